/** The dependency tree as arcs over the words. The service computes the layout; this draws it, so that words can be clicked. */

import { percent, shown, svg } from "./dom.js";
import { explain } from "./relations.js";

const STEP = 27; // pixels between levels
const BEND = 10;
const MARGIN = 14;

/** Draw a sentence. `on` returns the listeners of a word; `fixed` maps words to fixed heads. */
export function drawArcs(sentence, fixed, on) {
  const { words, arcs, width } = sentence.layout.arcs;
  const base = 16 + STEP * Math.max(1, ...arcs.map((arc) => arc.level));
  const sure = sentence.words.some((word) => word.head_probability !== undefined);
  const height = base + (sure ? 72 : 56);
  const drawing = svg("svg", { width: Math.ceil(width) + 2 * MARGIN, height, role: "group", "aria-label": "Dependency tree" });
  for (const arc of [...arcs].reverse()) drawing.append(drawArc(arc, base, fixed));
  for (const { id, form, upos, x, width: room } of words) {
    const word = sentence.words[id - 1];
    const middle = x + MARGIN;
    const shape = drawWord(
      sentence,
      word,
      on,
      svg("rect", { x: middle - room / 2 - 5, y: base + 3, width: room + 10, height: height - base - 8, rx: 6 }),
      svg("text", { class: "form", x: middle, y: base + 23 }, form),
      svg("text", { class: "upos", x: middle, y: base + 41 }, upos),
    );
    if (sure) {
      const doubt = word.head_probability < 0.7 ? "prob doubt" : "prob";
      shape.append(svg("text", { class: doubt, x: middle, y: base + 57 }, percent(word.head_probability)));
    }
    drawing.append(shape);
  }
  return drawing;
}

/** Make the group of a word that can be clicked, of shapes. */
export function drawWord(sentence, word, on, ...shapes) {
  const { id } = word;
  return svg("g", { class: "word", "data-word": id, role: "button", tabindex: id === 1 ? 0 : -1, "aria-pressed": "false", "aria-label": tell(sentence, word), ...on(word) }, ...shapes);
}

/** Return the classes of an arc. */
export function kindsOf(arc, fixed) {
  const kinds = ["arc", `g-${explain(arc.label).group}`, arc.crossing && "crossing", fixed[arc.dependent] === arc.head && "kept"];
  return kinds.filter(Boolean).join(" ");
}

/** Describe a word and its arc in words, for screen readers. */
export function tell(sentence, word) {
  const head = word.head ? `${word.deprel} of ${shown(sentence, word.head)}` : word.deprel;
  const sure = word.head_probability === undefined ? "" : `, ${percent(word.head_probability)}`;
  return `${shown(sentence, word.id)}, ${word.upos ? `${word.upos}, ` : ""}${head}${sure}`;
}

function drawArc(arc, base, fixed) {
  const y = base - STEP * arc.level;
  const [from, to, begin, end] = [arc.from, arc.to, arc.begin, arc.end].map((x) => x + MARGIN);
  const turn = to > from ? 1 : -1;
  const path = arc.head
    ? `M${from} ${base}V${y + BEND}Q${from} ${y} ${from + turn * BEND} ${y}H${to - turn * BEND}Q${to} ${y} ${to} ${y + BEND}V${base - 4}`
    : `M${to} ${y}V${base - 4}`;
  return svg(
    "g",
    { class: kindsOf(arc, fixed), "data-head": arc.head, "data-dependent": arc.dependent, "data-deprel": arc.label, "aria-hidden": "true" },
    svg("path", { d: path }),
    svg("path", { class: "tip", d: `M${to} ${base}l-3.6 -7.5h7.2z` }),
    svg("rect", { class: "patch", x: begin, y: y - 8, width: end - begin, height: 16 }),
    svg("text", { class: "label", x: (begin + end) / 2, y: y + 4.2 }, arc.label),
  );
}

/** Highlight a word, its head and its arcs; 0 removes the highlight. */
export function light(drawing, id) {
  drawing.classList.toggle("lit", id > 0);
  let head = 0;
  for (const arc of drawing.querySelectorAll(".arc")) {
    const inward = Number(arc.dataset.dependent) === id;
    arc.classList.toggle("in", inward);
    arc.classList.toggle("out", Number(arc.dataset.head) === id && id > 0);
    if (inward) head = Number(arc.dataset.head);
  }
  for (const word of drawing.querySelectorAll(".word")) {
    word.classList.toggle("shown", Number(word.dataset.word) === id);
    word.classList.toggle("head", id > 0 && Number(word.dataset.word) === head);
  }
}
