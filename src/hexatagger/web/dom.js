/** Elements made by hand: strings only ever become text, so nothing typed can become markup. */

const SVG = "http://www.w3.org/2000/svg";

/** Make an element with attributes (functions are listeners) and children (strings are text). */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

const UNSEEN = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;

/** Make a word harmless to show: no marks of direction, no control characters, never nothing at all. */
export function printable(text) {
  const shown = text.replace(UNSEEN, "").replace(/[\u0000-\u001f]/gu, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)));
  if (shown.trim()) return shown;
  return [...text].map((c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")).join(" ");
}

/** Say whether most letters are of a script that is written from right to left. */
export function rightToLeft(texts) {
  const all = texts.join("");
  const count = (pattern) => (all.match(pattern) || []).length;
  return count(/[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu) > count(/\p{L}/gu) / 2;
}

const canvas = document.createElement("canvas").getContext("2d");
const family = '"Noto Sans", "Segoe UI", Roboto, Helvetica, Arial, sans-serif';

/** Return how wide a text is in pixels. */
export function measure(text, size) {
  canvas.font = `${size}px ${family}`;
  return canvas.measureText(text).width;
}

/** Write a probability as people read it. */
export function percent(value) {
  if (value >= 0.9995) return "100 %";
  if (value < 0.001) return "< 0.1 %";
  return `${(100 * value).toFixed(value < 0.1 || value > 0.99 ? 1 : 0)} %`;
}
