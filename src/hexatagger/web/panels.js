/** What stands under the drawing: the word that is pointed at, the best trees, the arcs that are fixed. */

import { element, percent, printable } from "./dom.js";

/** Show a word: its head, how sure that is, what else it could be; a click on another head fixes it. */
export function showWord(body, sentence, word, choosing, act) {
  if (!word) {
    body.replaceChildren(element("p", { class: "small" }, "Point at a word to see its head, how sure the parser is of it, and what else it could be. Click a word and then another to fix an arc."));
    return;
  }
  const form = (id) => (id ? printable(sentence.words[id - 1].form) : "root");
  const facts = [["Lemma", word.lemma], ["UPOS", word.upos], ["XPOS", word.xpos], ["Features", word.feats?.replaceAll("|", ", ")]];
  const list = facts.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  const sure = word.head_probability === undefined ? "" : ` (${percent(word.head_probability)})`;
  const arc = word.head ? `${word.deprel} of ${form(word.head)}${sure}` : `${word.deprel}${sure}`;
  const parts = [element("p", {}, element("span", { class: "big" }, printable(word.form)), " ", element("span", { id: "word-arc" }, arc)), element("dl", {}, ...list)];
  if (word.heads?.length) {
    parts.push(element("p", { class: "small" }, "Heads it could have; choose one to fix it:"));
    for (const { head, probability } of word.heads.map(alternative).filter((each) => each.probability >= 0.0005).slice(0, 6)) {
      const label = `Fix the head of ${form(word.id)} to ${form(head)}, ${percent(probability)}`;
      parts.push(choice(head ? form(head) : "root", probability, { "aria-label": label, "aria-pressed": String(head === word.head), click: () => act.fix(word.id, head) }));
    }
  }
  if (choosing) parts.push(element("p", {}, element("button", { type: "button", click: () => act.fix(word.id, 0) }, "Make it the root"), " ", element("button", { type: "button", click: act.cancel }, "Cancel")));
  body.replaceChildren(...parts);
}

/** Read an alternative head, which is a pair or an object. */
function alternative(each) {
  return Array.isArray(each) ? { head: each[0], probability: each[1] } : each;
}

function choice(text, probability, attributes) {
  return element(
    "button",
    { type: "button", class: "choice", ...attributes },
    element("span", {}, text),
    element("span", { class: "p" }, percent(probability)),
    element("meter", { min: 0, max: 1, value: probability, "aria-hidden": "true" }),
  );
}

/** Show the k best trees of a sentence by what sets each apart from the best. */
export function showTrees(body, trees, chosen, fixed, choose) {
  const items = trees.map((tree, index) => {
    const text = index ? difference(trees[0], tree) : fixed ? "Best tree with the fixed arcs" : "Best tree";
    const attributes = { "aria-current": String(index + 1 === chosen), "aria-label": `Tree ${index + 1}: ${text}`, click: () => choose(index + 1) };
    return element("li", {}, choice(`${index + 1}. ${text}`, tree.probability ?? 0, attributes));
  });
  if (trees.length === 1 && trees[0].probability === undefined) items.splice(0, 1, element("li", { class: "small" }, "Only the best tree was asked for."));
  if (fixed && trees[0].probability !== undefined) items.push(element("li", { class: "small" }, "Probabilities are given the fixed arcs."));
  body.replaceChildren(...items);
}

function difference(best, tree) {
  const changes = tree.words.filter((word, index) => word.head !== best.words[index].head || word.deprel !== best.words[index].deprel);
  const told = changes.map((word) => `${printable(word.form)} ← ${word.head ? printable(tree.words[word.head - 1].form) : "root"}`);
  return told.slice(0, 3).join(", ") + (told.length > 3 ? ` and ${told.length - 3} more` : "");
}

/** Show the arcs that are fixed in a sentence, each with a button that frees it. */
export function showFixed(body, sentence, fixed, free, freeAll) {
  const entries = Object.entries(fixed).filter(([word, head]) => sentence.words[word - 1] && (head === 0 || sentence.words[head - 1]));
  if (!entries.length) {
    body.replaceChildren(element("p", { class: "small" }, "None. Click a word and then its head, and the best tree with that arc is found."));
    return;
  }
  const chips = entries.map(([word, head]) => {
    const text = `${printable(sentence.words[word - 1].form)} ← ${head ? printable(sentence.words[head - 1].form) : "root"}`;
    return element("span", { class: "chip" }, text, element("button", { type: "button", "aria-label": `Free ${text}`, click: () => free(Number(word)) }, "✕"));
  });
  body.replaceChildren(...chips, element("p", {}, element("button", { type: "button", click: freeAll }, "Free all")));
}
