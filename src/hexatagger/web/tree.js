/** The binary head tree as a drawing, whole or as far as the machine has got, tags under it; the tags as a line; the steps as a table. */

import { element, measure, printable, rightToLeft, svg } from "./dom.js";
import { bare, run } from "./machine.js";

const STEP = 27;
const LONGEST = 150; // words: longer sentences have no steps to look at

/** Draw the binary head tree; with `step`, only what is built after so many tags. */
export function drawTree(sentence, step = null, on = () => ({})) {
  const { nodes } = run(sentence.tags);
  const words = sentence.words;
  const mirrored = rightToLeft(words.map((word) => word.form));
  const forms = words.map((word) => printable(word.form));
  const widths = forms.map((form, index) => Math.max(measure(form, 17), 9 * bare(sentence.tags[2 * index]).length));
  const x = positions(widths, mirrored);
  const top = 16 + STEP * Math.max(0, ...nodes.map((node) => node.height));
  const y = (node) => top - STEP * node.height;
  const tagsAt = top + 20;
  const base = tagsAt + 12;
  const done = (node) => step === null || node.place < step;
  const drawing = svg("svg", { width: Math.max(...x) + Math.max(...widths) / 2 + 14, height: base + 34, role: "img", "aria-label": "Binary head tree" });
  for (const node of nodes) {
    for (const child of [node.left, node.right]) {
      if (!child || !done(node)) continue;
      if (done(child)) drawing.append(svg("path", { class: "edge", d: `M${x[node.place]} ${y(node)}L${x[child.place]} ${y(child)}` }));
      else drawing.append(...openSlot(x[node.place], y(node), mirrored ? -1 : 1));
    }
  }
  for (const node of nodes) {
    const now = step !== null && node.place === step - 1;
    if (node.side && done(node)) {
      const kind = `node ${node.side}${now ? " now" : ""}`;
      drawing.append(svg("g", { class: kind }, svg("circle", { cx: x[node.place], cy: y(node), r: 9 }), svg("text", { x: x[node.place], y: y(node) + 3.9 }, node.side)));
    }
    const kind = `tag${node.side ? " inner" : ""}${done(node) ? "" : " later"}`;
    drawing.append(svg("text", { class: kind, x: x[node.place], y: tagsAt + 2 }, bare(sentence.tags[node.place])));
    if (!node.side) {
      const [middle, width] = [x[node.place], widths[node.place / 2]];
      const word = words[node.place / 2];
      const box = svg("rect", { x: middle - width / 2 - 4, y: base + 2, width: width + 8, height: 26, rx: 6 });
      const kinds = ["word", now && "now", !done(node) && "later"].filter(Boolean).join(" ");
      drawing.append(svg("g", { class: kinds, "data-word": word.id, ...on(word) }, box, svg("text", { class: "form", x: middle, y: base + 21 }, forms[node.place / 2])));
    }
  }
  return drawing;
}

/** Return where every node stands: words side by side, a node between its word and the next. */
function positions(widths, mirrored) {
  const x = [];
  const count = widths.length;
  let edge = 14;
  for (let seen = 0; seen < count; seen++) {
    const word = mirrored ? count - 1 - seen : seen;
    x[2 * word] = edge + widths[word] / 2;
    edge += widths[word] + 30;
  }
  for (let word = 0; word + 1 < count; word++) {
    const [near, far] = mirrored ? [-1, 1] : [1, -1];
    x[2 * word + 1] = (x[2 * word] + (near * widths[word]) / 2 + x[2 * word + 2] + (far * widths[word + 1]) / 2) / 2;
  }
  return x;
}

function openSlot(x, y, turn) {
  return [
    svg("path", { class: "slot", d: `M${x} ${y}l${16 * turn} 16` }),
    svg("text", { class: "slot-mark", x: x + 21 * turn, y: y + 26 }, "?"),
  ];
}

/** The tags in the order of reading, words under their leaves. */
export function drawTags(sentence) {
  const items = sentence.tags.map((tag, place) => {
    const leaf = place % 2 === 0;
    const shown = element("span", { class: leaf ? "t" : "t i" }, tag);
    return element("li", {}, shown, element("span", { class: "f" }, leaf ? printable(sentence.words[place / 2].form) : "\u00a0"));
  });
  const direction = rightToLeft(sentence.words.map((word) => word.form)) ? "rtl" : "ltr";
  return element("ol", { class: "tagline", dir: direction, "aria-label": "Hexatags" }, ...items);
}

/** The decoder step by step: buttons, the tree so far, and the table of the paper. `go` is called with another step. */
export function drawSteps(sentence, step, go) {
  if (sentence.words.length > LONGEST) {
    return element("p", { class: "scroll" }, `This sentence has more than ${LONGEST} words: too many steps to look at.`);
  }
  const { steps } = run(sentence.tags);
  const count = steps.length;
  const now = Math.min(Math.max(step, 0), count);
  const button = (label, text, to) => element("button", { type: "button", "aria-label": label, disabled: to < 0 || to > count || to === now, click: () => go(to, label) }, text);
  const slider = element("input", { type: "range", min: 0, max: count, value: now, "aria-label": "Step", input: (event) => go(Number(event.target.value), "Step") });
  const told = now ? `${now} of ${count}: ${steps[now - 1].tag} – ${steps[now - 1].says}` : `0 of ${count}: the stack is empty`;
  const bar = element(
    "div",
    { class: "steps-bar", role: "group", "aria-label": "Steps" },
    button("First step", "⏮", 0),
    button("Step back", "◀", now - 1),
    button("Step forward", "▶", now + 1),
    button("Last step", "⏭", count),
    slider,
  );
  const rows = steps.map((each, index) => row(sentence, each, index + 1, now, go));
  const head = element("tr", {}, ...["Step", "Tag", "Action", "Stack, its top on the right", "Arcs found"].map((name) => element("th", { scope: "col" }, name)));
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
  return element(
    "div",
    {},
    bar,
    element("p", { class: "small scroll", id: "step-told", "aria-live": "polite" }, told),
    element("div", { class: "scroll", tabindex: 0, "aria-label": "Tree so far" }, drawTree(sentence, now)),
    element("div", { class: "table", tabindex: 0, "aria-label": "All steps" }, table),
  );
}

function row(sentence, step, number, now, go) {
  const form = (id) => printable(sentence.words[id - 1].form);
  const item = (parts) => element("span", { class: "item" }, parts.map((part) => (part === null ? "?" : typeof part === "number" ? form(part) : part)).join(""));
  const arcs = step.arcs.map(([head, dependent]) => (head ? `${form(head)} → ${form(dependent)}` : `root → ${form(dependent)}`));
  const jump = element("button", { type: "button", "aria-label": `Go to step ${number}` }, String(number));
  return element(
    "tr",
    { "aria-current": number === now ? "step" : null, click: () => go(number, "Step") },
    element("td", {}, jump),
    element("td", { class: "m" }, step.tag),
    element("td", {}, step.says),
    element("td", {}, ...step.stack.map(item)),
    element("td", {}, arcs.join(", ")),
  );
}
