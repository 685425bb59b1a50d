/** The sentence as a table: every column of CoNLL-U that the model predicts, and how sure it is of each head. */

import { element, percent, shown } from "./dom.js";
import { explain } from "./relations.js";

/** Show the table. `on` returns the listeners of a row; `pick` shows a word. */
export function drawTable(sentence, on, pick) {
  const sure = sentence.words.some((word) => word.head_probability !== undefined);
  const columns = ["ID", "Form", "Lemma", "UPOS", "XPOS", "Features", "Head", "Relation", ...(sure ? ["Probability"] : [])];
  const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)));
  const tokens = new Map((sentence.multiwords ?? []).map(({ columns: [range, form] }) => [parseInt(range, 10), [range, form]]));
  const rows = sentence.words.flatMap((word) => {
    const token = tokens.get(word.id);
    const relation = explain(word.deprel ?? "");
    const row = element(
      "tr",
      { "data-word": word.id, ...on(word), click: () => pick(word.id) },
      element("td", {}, String(word.id)),
      element("th", { scope: "row" }, element("button", { type: "button", "aria-label": `Show ${shown(sentence, word.id)}` }, shown(sentence, word.id))),
      ...[word.lemma, word.upos, word.xpos].map((value) => element("td", {}, value ?? "")),
      element("td", { class: "feats" }, ...(word.feats ?? "").split("|").filter(Boolean).map((each) => element("span", { class: "item" }, each))),
      element("td", {}, word.head ? `${word.head} ${shown(sentence, word.head)}` : "0"),
      element("td", {}, element("span", { class: `relation g-${relation.group}`, "data-deprel": word.deprel }, word.deprel ?? ""), " ", element("span", { class: "small" }, relation.name)),
      sure ? element("td", { class: word.head_probability < 0.7 ? "n doubt" : "n" }, percent(word.head_probability)) : null,
    );
    return token ? [wholeToken(token, columns.length), row] : [row];
  });
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
  return element("div", { class: "table columns", tabindex: 0, role: "group", "aria-label": "Table of words, scrolls" }, table);
}

function wholeToken([range, form], columns) {
  return element("tr", { class: "token" }, element("td", {}, range), element("th", { scope: "row" }, form), element("td", { colspan: columns - 2, class: "small" }, "written as one token"));
}
