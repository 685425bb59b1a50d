/** The dependency tree with one word per row, as in a terminal: arcs in the margin. For long sentences and narrow screens. */

import { drawWord, kindsOf } from "./arcs.js";
import { percent, svg } from "./dom.js";

const ROW = 30;
const BEND = 7;
const WIDEST = 190; // pixels for a word: a longer one is cut

/** Draw a sentence; the arguments are those of `drawArcs`. */
export function drawDown(sentence, fixed, on) {
  const { words, arcs } = sentence.layout.arcs;
  const levels = Math.max(0, ...sentence.layout.fans.map((fan) => fan.level));
  const pitch = levels > 6 ? 11 : 16;
  const columns = new Map(sentence.layout.fans.flatMap((fan) => fan.dependents.map((to) => [to, 8 + pitch * (levels - fan.level)])));
  const room = new Map(arcs.map((arc) => [arc.dependent, arc.end - arc.begin]));
  const labels = pitch * levels + 14 + Math.max(0, ...room.values());
  const tip = labels + 16;
  const tags = tip + 24 + Math.min(WIDEST, Math.max(0, ...words.map((word) => word.width)));
  const sure = sentence.words.some((word) => word.head_probability !== undefined);
  const width = tags + (words.some((word) => word.upos) ? 52 : 0) + (sure ? 52 : 0);
  const y = (id) => ROW * id - ROW / 2 + 4;
  const drawing = svg("svg", { width, height: ROW * words.length + 8, class: "down", role: "group", "aria-label": "Dependency tree, one word per row" });
  for (const arc of [...arcs].reverse()) {
    const [row, column] = [y(arc.dependent), columns.get(arc.dependent) ?? 0];
    const turn = arc.dependent > arc.head ? 1 : -1;
    const from = labels - (room.get(arc.head) ?? 0);
    const stem = arc.head ? `M${from} ${y(arc.head)}H${column + BEND}Q${column} ${y(arc.head)} ${column} ${y(arc.head) + turn * BEND}V${row - turn * BEND}` : "";
    const branch = arc.head ? `M${column} ${row - turn * BEND}Q${column} ${row} ${column + BEND} ${row}H${tip - 4}` : `M0 ${row}H${tip - 4}`;
    drawing.append(
      svg(
        "g",
        { class: kindsOf(arc, fixed), "data-head": arc.head, "data-dependent": arc.dependent, "data-deprel": arc.label, "aria-hidden": "true" },
        arc.head ? svg("path", { class: "stem", d: stem }) : null,
        svg("path", { d: branch }),
        svg("path", { class: "tip", d: `M${tip} ${row}l-7.5 -3.6v7.2z` }),
        svg("rect", { class: "patch", x: labels - room.get(arc.dependent), y: row - 8, width: room.get(arc.dependent), height: 16 }),
        svg("text", { class: "label end", x: labels - 3, y: row + 4.2 }, arc.label),
      ),
    );
  }
  for (const { id, form, upos, width: wide } of words) {
    const word = sentence.words[id - 1];
    const letters = [...form];
    const cut = wide > WIDEST ? `${letters.slice(0, Math.max(1, Math.floor((letters.length * WIDEST) / wide) - 1)).join("")}…` : form;
    const doubt = word.head_probability < 0.7 ? "prob doubt end" : "prob end";
    drawing.append(
      drawWord(
        sentence,
        word,
        on,
        svg("rect", { x: tip + 1, y: y(id) - ROW / 2 + 1, width: width - tip - 2, height: ROW - 2, rx: 6 }),
        svg("text", { class: "form start", x: tip + 8, y: y(id) + 6 }, cut),
        svg("text", { class: "upos start", x: tags, y: y(id) + 4.5 }, upos),
        sure ? svg("text", { class: doubt, x: width - 6, y: y(id) + 4.5 }, percent(word.head_probability)) : null,
      ),
    );
  }
  return drawing;
}
