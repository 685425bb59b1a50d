/** The binary head tree, whole or as far as the decoder has built it; the tags as a line; the decoder's steps as a table. */

import { element, shown, svg } from "./dom.js";

const STEP = 27; // pixels between levels
const MARGIN = 14;
const LONGEST = 150; // words: the table of steps of a longer sentence is too large

const SAYS = {
  l: "push the word",
  r: "put the word into the open slot",
  Ll: "new node over the top; its head is on the left",
  Lr: "new node over the top; its head is on the right",
  Rl: "new node into the open slot below; its head is on the left",
  Rr: "new node into the open slot below; its head is on the right",
};

/** Draw the binary head tree; with `step`, only the part built after that many tags. */
export function drawTree(sentence, step = null, on = () => ({})) {
  const { nodes, width } = sentence.layout.bht;
  const words = sentence.layout.arcs.words;
  const top = 16 + STEP * Math.max(0, ...nodes.map((node) => node.height));
  const x = (node) => node.x + MARGIN;
  const y = (node) => top - STEP * node.height;
  const tagsAt = top + 20;
  const base = tagsAt + 12;
  const done = (node) => step === null || node.place < step;
  const drawing = svg("svg", { width: Math.ceil(width) + 2 * MARGIN, height: base + 34, role: "img", "aria-label": "Binary head tree" });
  for (const node of nodes) {
    for (const child of node.children.map((place) => nodes[place])) {
      if (!done(node)) continue;
      if (done(child)) drawing.append(svg("path", { class: "edge", d: `M${x(node)} ${y(node)}L${x(child)} ${y(child)}` }));
      else drawing.append(...openSlot(x(node), y(node), sentence.layout.right_to_left ? -1 : 1));
    }
  }
  for (const node of nodes) {
    const now = step !== null && node.place === step - 1;
    if (node.side && done(node)) {
      const kind = `node ${node.side}${now ? " now" : ""}`;
      drawing.append(svg("g", { class: kind }, svg("circle", { cx: x(node), cy: y(node), r: 9 }), svg("text", { x: x(node), y: y(node) + 3.9 }, node.side)));
    }
    const kind = `tag${node.side ? " inner" : ""}${done(node) ? "" : " later"}`;
    drawing.append(svg("text", { class: kind, x: x(node), y: tagsAt + 2 }, node.tag));
    if (!node.side) {
      const { id, form, width: room } = words[node.place / 2];
      const box = svg("rect", { x: x(node) - room / 2 - 4, y: base + 2, width: room + 8, height: 26, rx: 6 });
      const kinds = ["word", now && "now", !done(node) && "later"].filter(Boolean).join(" ");
      drawing.append(svg("g", { class: kinds, "data-word": id, ...on(sentence.words[id - 1]) }, box, svg("text", { class: "form", x: x(node), y: base + 21 }, form)));
    }
  }
  return drawing;
}

function openSlot(x, y, turn) {
  return [
    svg("path", { class: "slot", d: `M${x} ${y}l${16 * turn} 16` }),
    svg("text", { class: "slot-mark", x: x + 21 * turn, y: y + 26 }, "?"),
  ];
}

/** Show the tags in reading order, with the words under their leaves. */
export function drawTags(sentence) {
  const items = sentence.tags.map((tag, place) => {
    const leaf = place % 2 === 0;
    const text = element("span", { class: leaf ? "t" : "t i" }, tag);
    return element("li", {}, text, element("span", { class: "f" }, leaf ? shown(sentence, place / 2 + 1) : "\u00a0"));
  });
  const direction = sentence.layout.right_to_left ? "rtl" : "ltr";
  return element("ol", { class: "tagline", dir: direction, "aria-label": "Hexatags" }, ...items);
}

/** Show the decoder step by step: buttons, the tree so far, and a table of all steps. `go` is called with another step, `fitted` scales the tree. */
export function drawSteps(sentence, step, go, fitted) {
  if (sentence.words.length > LONGEST) {
    return element("p", { class: "scroll" }, `This sentence has more than ${LONGEST} words: its table of steps is too long to show.`);
  }
  const { nodes } = sentence.layout.bht;
  const count = nodes.length;
  const now = Math.min(Math.max(step, 0), count);
  const button = (label, text, to) => element("button", { type: "button", "aria-label": label, disabled: to < 0 || to > count || to === now, click: () => go(to, label) }, text);
  const slider = element("input", { type: "range", min: 0, max: count, value: now, "aria-label": "Step", input: (event) => go(Number(event.target.value), "Step") });
  const told = now ? `${now} of ${count}: ${sentence.tags[now - 1]} – ${SAYS[nodes[now - 1].tag]}` : `0 of ${count}: the stack is empty`;
  const bar = element(
    "div",
    { class: "steps-bar", role: "group", "aria-label": "Steps" },
    button("First step", "|◀", 0),
    button("Step back", "◀", now - 1),
    button("Step forward", "▶", now + 1),
    button("Last step", "▶|", count),
    slider,
  );
  const rows = nodes.map((node) => row(sentence, node, now, go));
  const head = element("tr", {}, ...["Step", "Tag", "Action", "Stack, its top on the right", "Arcs found"].map((name) => element("th", { scope: "col" }, name)));
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
  return element(
    "div",
    {},
    bar,
    element("p", { class: "small scroll", id: "step-told", "aria-live": "polite" }, told),
    element("div", { class: "scroll", tabindex: 0, "aria-label": "Tree so far" }, fitted(drawTree(sentence, now))),
    element("div", { class: "table", tabindex: 0, "aria-label": "All steps" }, table),
  );
}

function row(sentence, node, now, go) {
  const number = node.place + 1;
  const found = sentence.layout.bht.arcs.filter((arc) => arc.step === number);
  const arcs = found.map((arc) => `${shown(sentence, arc.head)} → ${shown(sentence, arc.dependent)}`);
  const jump = element("button", { type: "button", "aria-label": `Go to step ${number}` }, String(number));
  return element(
    "tr",
    { "aria-current": number === now ? "step" : null, click: () => go(number, "Step") },
    element("td", {}, jump),
    element("td", { class: "m" }, sentence.tags[node.place]),
    element("td", {}, SAYS[node.tag]),
    element("td", {}, ...stack(sentence, number).map((text) => element("span", { class: "item" }, text))),
    element("td", {}, arcs.join(", ")),
  );
}

/** Return the stack after `step` tags as texts: the finished nodes without a finished parent. */
function stack(sentence, step) {
  const nodes = sentence.layout.bht.nodes;
  const built = nodes.slice(0, step);
  const inside = new Set(built.flatMap((node) => node.children));
  return built.filter((node) => !inside.has(node.place)).map((top) => {
    const parts = [];
    const waiting = [top];
    while (waiting.length) {
      const item = waiting.pop();
      if (typeof item === "string") parts.push(item);
      else if (item.place >= step) parts.push("?");
      else if (!item.side) parts.push(shown(sentence, item.place / 2 + 1));
      else waiting.push(")", nodes[item.children[1]], " ", nodes[item.children[0]], `${item.side}(`);
    }
    return parts.join("");
  });
}
