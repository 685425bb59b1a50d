/** The clipboard, also where a page is not allowed to use it directly. */

import { element } from "./dom.js";

/** Write to the clipboard; where the browser has none for this page, by way of a selection. */
export async function toClipboard(text) {
  if (navigator.clipboard) {
    try {
      return await navigator.clipboard.writeText(text);
    } catch {
      // The browser does not allow it here: go the old way.
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
