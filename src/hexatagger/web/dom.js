/** Makes elements. Strings only become text, so nothing typed can become markup. */

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

/** Scale a drawing; its own size stays that of its coordinates. */
export function scale(drawing, factor) {
  const size = ["width", "height"].map((name) => Number(drawing.getAttribute(name)));
  drawing.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  ["width", "height"].forEach((name, index) => drawing.setAttribute(name, (size[index] * factor).toFixed(1)));
  return drawing;
}

/** Return the form of a word as the service made it safe to show; 0 is the root. */
export const shown = (sentence, id) => (id ? sentence.layout.arcs.words[id - 1].form : "root");

/** Format a probability. */
export function percent(value) {
  if (value >= 0.9995) return "100 %";
  if (value < 0.001) return "< 0.1 %";
  return `${(100 * value).toFixed(value < 0.1 || value > 0.99 ? 1 : 0)} %`;
}
