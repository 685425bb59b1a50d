/** The dependency tree as arcs over the words, drawn here so that every word can be pointed at. */

import { measure, percent, printable, rightToLeft, svg } from "./dom.js";

const STEP = 27; // between levels
const PORT = 8; // between arcs that meet at a word
const BEND = 10;

/** Draw a sentence; `on` has listeners for words, `fixed` the heads that are fixed, by word. */
export function drawArcs(sentence, fixed, on) {
  const words = sentence.words;
  const count = words.length;
  const mirrored = rightToLeft(words.map((word) => word.form));
  const seen = (id) => (mirrored ? count + 1 - id : id); // the place of a word, from the left
  const arcs = levels(words, seen);
  const ports = place(arcs, count);
  const slots = words.map((word) => ({
    form: printable(word.form),
    width: Math.max(measure(printable(word.form), 17), measure(word.upos ?? "", 11), PORT * (ports[seen(word.id)].length - 1)),
  }));
  const x = spread(words, slots, arcs, ports, seen);
  const top = Math.max(1, ...arcs.map((arc) => arc.level));
  const base = 16 + STEP * top;
  const sure = words.some((word) => word.head_probability !== undefined);
  const height = base + (sure ? 72 : 56);
  const last = Math.max(...words.map((word) => x[seen(word.id)] + slots[word.id - 1].width / 2));
  const drawing = svg("svg", { width: Math.ceil(last + 14), height, role: "group", "aria-label": "Dependency tree" });

  for (const arc of [...arcs].sort((one, other) => other.level - one.level)) {
    drawing.append(drawArc(arc, x, base, fixed));
  }
  for (const word of words) {
    const middle = x[seen(word.id)];
    const { form, width } = slots[word.id - 1];
    const shape = svg(
      "g",
      { class: "word", "data-word": word.id, role: "button", tabindex: word.id === 1 ? 0 : -1, "aria-pressed": "false", "aria-label": tell(sentence, word), ...on(word) },
      svg("rect", { x: middle - width / 2 - 5, y: base + 3, width: width + 10, height: height - base - 8, rx: 6 }),
      svg("text", { class: "form", x: middle, y: base + 23 }, form),
      svg("text", { class: "upos", x: middle, y: base + 41 }, word.upos ?? ""),
    );
    if (sure) {
      const doubt = word.head_probability < 0.7 ? "prob doubt" : "prob";
      shape.append(svg("text", { class: doubt, x: middle, y: base + 57 }, percent(word.head_probability)));
    }
    drawing.append(shape);
  }
  return drawing;
}

/** Say a word and its arc, for those who cannot see them. */
export function tell(sentence, word) {
  const head = word.head ? `${word.deprel} of ${printable(sentence.words[word.head - 1].form)}` : word.deprel;
  const sure = word.head_probability === undefined ? "" : `, ${percent(word.head_probability)}`;
  return `${printable(word.form)}, ${word.upos ? `${word.upos}, ` : ""}${head}${sure}`;
}

/** Put every arc on the lowest level above all shorter ones that it overlaps; the root's arc is above all. */
function levels(words, seen) {
  const arcs = words.filter((word) => word.head).map((word) => {
    const [head, dependent] = [seen(word.head), seen(word.id)];
    return { word, head, dependent, left: Math.min(head, dependent), right: Math.max(head, dependent), level: 0 };
  });
  arcs.sort((one, other) => one.right - one.left - (other.right - other.left) || one.dependent - other.dependent);
  const heights = new Array(words.length + 1).fill(0);
  for (const arc of arcs) {
    arc.level = 1 + Math.max(...heights.slice(arc.left, arc.right));
    heights.fill(arc.level, arc.left, arc.right);
  }
  const heads = new Map(words.map((word) => [word.id, word.head]));
  for (const arc of arcs) arc.crossing = !projective(arc.word, heads);
  const roof = 1 + Math.max(0, ...arcs.map((arc) => arc.level));
  for (const word of words.filter((each) => each.head === 0)) {
    const at = seen(word.id);
    arcs.push({ word, head: 0, dependent: at, left: at, right: at, level: roof, crossing: false });
  }
  return arcs;
}

/** Say whether everything under an arc hangs on its head. */
function projective(word, heads) {
  for (let id = Math.min(word.id, word.head) + 1; id < Math.max(word.id, word.head); id++) {
    let up = id;
    for (let left = heads.size; up && up !== word.head && left; left--) up = heads.get(up);
    if (up !== word.head) return false;
  }
  return true;
}

/** Give the arcs at each place their order from left to right, so that they do not cross at the word. */
function place(arcs, count) {
  const ports = Array.from({ length: count + 1 }, () => []);
  for (const arc of arcs) {
    if (arc.head) ports[arc.head].push(arc);
    ports[arc.dependent].push(arc);
  }
  ports.forEach((meeting, at) => {
    const rank = (arc) => (arc.head === 0 ? 0 : arc.right === at ? -1 / arc.level : 1 / arc.level);
    meeting.sort((one, other) => rank(one) - rank(other));
  });
  return ports;
}

const offset = (ports, at, arc) => PORT * (ports[at].indexOf(arc) - (ports[at].length - 1) / 2);

/** Set the words as close as their own widths and the relations on the arcs allow. */
function spread(words, slots, arcs, ports, seen) {
  const order = [...words].sort((one, other) => seen(one.id) - seen(other.id));
  const x = [0];
  order.forEach((word, index) => {
    const at = index + 1;
    const half = slots[word.id - 1].width / 2;
    x[at] = index ? x[at - 1] + slots[order[index - 1].id - 1].width / 2 + half + 20 : half + 14;
    for (const arc of arcs) {
      if (arc.head === 0 && arc.right === at) x[at] = Math.max(x[at], measure(arc.word.deprel, 12.5) / 2 + 8);
      if (arc.head === 0 || arc.right !== at) continue;
      const room = measure(arc.word.deprel ?? "", 12.5) + 2 * BEND + 6;
      x[at] = Math.max(x[at], x[arc.left] + offset(ports, arc.left, arc) + room - offset(ports, at, arc));
    }
  });
  for (const arc of arcs) {
    arc.begin = x[arc.left] + (arc.head ? offset(ports, arc.left, arc) : offset(ports, arc.dependent, arc));
    arc.end = x[arc.right] + offset(ports, arc.right, arc);
  }
  return x;
}

function drawArc(arc, x, base, fixed) {
  const y = base - STEP * arc.level;
  const [from, to] = arc.dependent === arc.right ? [arc.begin, arc.end] : [arc.end, arc.begin];
  const turn = to > from ? 1 : -1;
  const path = arc.head
    ? `M${from} ${base}V${y + BEND}Q${from} ${y} ${from + turn * BEND} ${y}H${to - turn * BEND}Q${to} ${y} ${to} ${y + BEND}V${base - 4}`
    : `M${to} ${y}V${base - 4}`;
  const kinds = ["arc", arc.crossing && "crossing", fixed[arc.word.id] === arc.word.head && "kept"];
  const label = arc.word.deprel ?? "";
  const [middle, room] = [arc.head ? (from + to) / 2 : to, measure(label, 12.5) + 6];
  return svg(
    "g",
    { class: kinds.filter(Boolean).join(" "), "data-head": arc.word.head, "data-dependent": arc.word.id, "aria-hidden": "true" },
    svg("path", { d: path }),
    svg("path", { class: "tip", d: `M${to} ${base}l-3.6 -7.5h7.2z` }),
    svg("rect", { class: "patch", x: middle - room / 2, y: y - 8, width: room, height: 16 }),
    svg("text", { class: "label", x: middle, y: y + 4.2 }, label),
  );
}

/** Bring out a word, its head and its arcs; 0 brings out nothing. */
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
