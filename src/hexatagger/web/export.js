/** The trees as files and in the clipboard. */

import { parse } from "./api.js";
import { element } from "./dom.js";
import { request } from "./state.js";

const WIDEST = 8192; // pixels of a PNG: browsers refuse larger ones

/** Return the answer of the service as a text in a format: json, conllu, svg. `plain` says that only the best tree is known. */
export async function write(kind, state, answer, { plain, down }) {
  if (kind === "json") return JSON.stringify(answer, (key, value) => (key === "layout" ? undefined : value), 1);
  const which = plain ? { plain: true, probabilities: false, k: 1 } : { tree: state.tree };
  const shown = { table: "arcs", steps: "all" }[state.view] ?? state.view;
  const drawn = kind === "svg" ? { sentence: state.sentence, show: shown, ...(down && { width: 1 }) } : {};
  return (await parse(request(state, { to: kind, tags: false, layout: false, ...which, ...drawn }))).text();
}

/** Turn an SVG into a PNG of twice its size, in light colours. */
export async function toPng(text) {
  const light = text.replace(/@media \(prefers-color-scheme:dark\)\{[^{}]*\{[^{}]*\}\}/, "");
  const address = URL.createObjectURL(new Blob([light], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const scale = Math.min(2, WIDEST / Math.max(image.width, image.height));
    const canvas = element("canvas", { width: Math.ceil(image.width * scale), height: Math.ceil(image.height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("The browser cannot make this PNG."))), "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Save a text or a blob as a file. */
export function download(name, content) {
  const address = URL.createObjectURL(new Blob([content]));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

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
