/** The clipboard, with a fallback for pages that may not use it directly. */

import { element } from "./dom.js";

/** Write to the clipboard; if the browser does not allow that, copy a selection. */
export async function toClipboard(text) {
  if (navigator.clipboard) {
    try {
      return await navigator.clipboard.writeText(text);
    } catch {
      // Not allowed here: use the fallback.
    }
  }
  const field = element("textarea", { class: "small", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("The browser does not let this page copy.");
  return undefined;
}
