/** The panels under the drawing: the current word, the best trees, the fixed arcs. */

import { element, percent, shown } from "./dom.js";
import { GROUPS, explain, known } from "./relations.js";

/** Show a word: its head and its other possible heads, with probabilities. A click on a head fixes it. */
export function showWord(body, sentence, word, fix) {
  if (!word) {
    body.replaceChildren(element("p", { class: "small" }, "Point at a word to see its head, how probable it is, and what other heads are possible. Click a word and then its head to fix an arc."));
    return;
  }
  const form = (id) => shown(sentence, id);
  const facts = [["Lemma", word.lemma], ["UPOS", word.upos], ["XPOS", word.xpos], ["Features", word.feats?.replaceAll("|", ", ")]];
  const list = facts.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  const sure = word.head_probability === undefined ? "" : ` (${percent(word.head_probability)})`;
  const arc = word.head ? `${word.deprel} of ${form(word.head)}${sure}` : `${word.deprel}${sure}`;
  const { group, name, text } = explain(word.deprel ?? "");
  const parts = [element("p", {}, element("span", { class: "big" }, form(word.id)), " ", element("span", { id: "word-arc" }, arc))];
  if (name) parts.push(element("p", { id: "word-relation" }, element("b", { class: `g-${group}` }, word.deprel), ` ${name}: ${text}.`));
  parts.push(element("dl", {}, ...list));
  if (word.heads?.length) {
    parts.push(element("p", { class: "small" }, "Possible heads; choose one to fix it:"));
    for (const [head, probability] of word.heads.filter(([, each]) => each >= 0.0005).slice(0, 6)) {
      const label = `Fix the head of ${form(word.id)} to ${form(head)}, ${percent(probability)}`;
      parts.push(choice(form(head), probability, { "aria-label": label, "aria-pressed": String(head === word.head), click: () => fix(word.id, head) }));
    }
  }
  body.replaceChildren(...parts);
}

/** While the user chooses the head of a word, say so beside the drawing. */
export function showChoosing(bar, sentence, word, fix, cancel) {
  bar.hidden = !word;
  if (!word) return;
  const button = (text, act) => element("button", { type: "button", click: act }, text);
  bar.replaceChildren(`Choose the head of “${shown(sentence, word)}”.`, button("Make it the root", () => fix(word, 0)), button("Cancel", cancel));
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

/** Show the k best trees of a sentence, each by how it differs from the parser's; say why if that is not the most probable. */
export function showTrees(body, trees, chosen, fixed, choose) {
  const items = trees.map((tree, index) => {
    const text = index ? difference(trees[0], tree) : fixed ? "The parser’s tree with the fixed arcs" : "The parser’s tree";
    const attributes = { "aria-current": String(index + 1 === chosen), "aria-label": `Tree ${index + 1}: ${text}`, click: () => choose(index + 1) };
    return element("li", {}, choice(`${index + 1}. ${text}`, tree.probability ?? 0, attributes));
  });
  if (trees.length === 1 && trees[0].probability === undefined) items.splice(0, 1, element("li", { class: "small" }, "Only the best tree was asked for."));
  if (trees.length > 1 && trees[1].probability > trees[0].probability) items.push(element("li", { class: "small", id: "why" }, WHY));
  if (fixed && trees[0].probability !== undefined) items.push(element("li", { class: "small" }, "Probabilities assume the fixed arcs."));
  body.replaceChildren(...items);
}

const WHY =
  "Tree 2 is more probable than the parser’s own, tree 1. The parser compares single tag sequences, and models with pointers rerank the trees of the 32 best ones: that takes linear time. " +
  "A probability is summed over all tag sequences of a tree. So another tree is sometimes ahead.";

function difference(best, tree) {
  const changes = tree.words.filter((word, index) => word.head !== best.words[index].head || word.deprel !== best.words[index].deprel);
  const told = changes.map((word) => `${shown(tree, word.id)} ← ${shown(tree, word.head)}`);
  return told.slice(0, 3).join(", ") + (told.length > 3 ? ` and ${told.length - 3} more` : "");
}

/** List the sentences of a text, with the probability of each tree. */
export function showSentences(body, sentences, chosen, choose) {
  const items = sentences.map((sentence, index) => {
    const sure = sentence.probability === undefined ? "" : percent(sentence.probability);
    const attributes = { type: "button", "aria-current": String(index + 1 === chosen), "data-sentence": index + 1, click: () => choose(index + 1) };
    return element("li", {}, element("button", attributes, element("span", { class: "n" }, String(index + 1)), element("span", { class: "line", dir: "auto" }, sentence.text), element("span", { class: "p" }, sure)));
  });
  body.replaceChildren(...items);
}

/** Show which colours stand for which groups of relations, of those in the tree. */
export function showLegend(body, sentence) {
  const present = new Set(sentence.words.map((word) => explain(word.deprel ?? "").group));
  body.replaceChildren(...Object.keys(GROUPS).filter((group) => present.has(group)).map((group) => element("li", { class: `g-${group}` }, GROUPS[group])));
}

/** Show all relations with their definitions. */
export function showGlossary(body) {
  const entries = known().map((deprel) => ({ deprel, ...explain(deprel) }));
  const groups = Object.entries(GROUPS).flatMap(([group, title]) => [
    element("h3", { class: `g-${group}` }, title),
    element("dl", {}, ...entries.filter((each) => each.group === group).flatMap(({ deprel, name, text }) => [element("dt", {}, deprel), element("dd", {}, `${name}: ${text}`)])),
  ]);
  body.replaceChildren(...groups);
}

/** Show the fixed arcs of a sentence, each with a button that frees it. */
export function showFixed(body, sentence, fixed, free, freeAll) {
  const entries = Object.entries(fixed).filter(([word, head]) => sentence.words[word - 1] && (head === 0 || sentence.words[head - 1]));
  if (!entries.length) {
    body.replaceChildren(element("p", { class: "small" }, "None. Click a word and then its head to get the best tree with that arc."));
    return;
  }
  const chips = entries.map(([word, head]) => {
    const text = `${shown(sentence, word)} ← ${shown(sentence, head)}`;
    return element("span", { class: "chip" }, text, element("button", { type: "button", "aria-label": `Free ${text}`, click: () => free(Number(word)) }, "✕"));
  });
  body.replaceChildren(...chips, element("p", {}, element("button", { type: "button", click: freeAll }, "Free all")));
}
