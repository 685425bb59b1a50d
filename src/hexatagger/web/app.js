/** The page: sends the input to the service and draws the answer. Its state is always in the address. */

import { models, parse } from "./api.js";
import { drawArcs, light, tell } from "./arcs.js";
import { toClipboard } from "./clipboard.js";
import { element, percent, shown as form } from "./dom.js";
import { showFixed, showTrees, showWord } from "./panels.js";
import { VIEWS, readState, request, writeState } from "./state.js";
import { drawSteps, drawTags, drawTree } from "./tree.js";

const EXAMPLES = [
  "She reads fascinating papers.",
  "I saw the man with the telescope.",
  "Time flies like an arrow.",
  "A hearing on the issue is scheduled today.",
  "The old man the boat.",
  "What did you say happened after the lights went out?",
  "Visiting relatives can be tiring, but nobody who loves them would ever say so.",
];
const WAIT = 250; // milliseconds after the last key before the input is parsed

const $ = (id) => document.getElementById(id);
let state = readState(location.hash);
let answer = null; // the last answer of the service
let shown = 0; // the word in the panel
let chosen = 0; // the word whose head the user is choosing
let timer = 0;
let running = null;

const best = () => answer?.sentences[state.sentence - 1];
const trees = () => [best(), ...(best().alternatives ?? [])];
const tree = () => trees()[Math.min(state.tree, trees().length) - 1];
const fixed = () => state.fixed[state.sentence] ?? {};

function say(text) {
  $("status").textContent = text;
}

function fail(text) {
  $("error").textContent = text.charAt(0).toUpperCase() + text.slice(1);
  $("error").hidden = !text;
}

function remember() {
  const link = writeState(state);
  history.replaceState(null, "", link ? `#${link}` : location.pathname);
}

/** Parse the input. A request that is still running is cancelled. */
async function update() {
  clearTimeout(timer);
  running?.abort();
  chosen = 0;
  remember();
  if (!state.text.trim()) {
    answer = null;
    $("result").hidden = true;
    fail("");
    say("Type a sentence, or choose an example.");
    return;
  }
  running = new AbortController();
  const signal = running.signal;
  $("busy").hidden = false;
  try {
    answer = await ask(signal);
    fail("");
  } catch (error) {
    if (error.name === "AbortError") return;
    await explain(error, signal);
    $("busy").hidden = true;
    return;
  }
  $("busy").hidden = true;
  state.sentence = Math.min(state.sentence, Math.max(1, answer.sentences.length));
  state.tree = best() ? Math.min(state.tree, trees().length) : 1;
  if (!best()) {
    $("result").hidden = true;
    say("The text has no words.");
    return;
  }
  draw();
  const words = answer.sentences.reduce((sum, each) => sum + each.words.length, 0);
  const sure = best().probability === undefined ? "" : `; the best tree has ${percent(best().probability)}`;
  const foreign = answer.warning ? ` Note: ${answer.warning}.` : "";
  say(`${words} words in ${answer.sentences.length} ${answer.sentences.length > 1 ? "sentences" : "sentence"}${sure}.${foreign}`);
}

/** Ask for everything; if a sentence is too long for that, for the best tree only. */
async function ask(signal) {
  $("note").hidden = true;
  try {
    return await (await parse(request(state), signal)).json();
  } catch (error) {
    if (!["sentence_too_long", "too_much_work"].includes(error.code)) throw error;
    $("note").textContent = "A sentence is too long for probabilities, k-best trees and fixed arcs: only the best tree of each sentence is shown.";
    $("note").hidden = false;
    return (await parse(request(state, { plain: true, probabilities: false, k: 1 }), signal)).json();
  }
}

/** Show an error. If fixed arcs contradict one another, show the sentence too, so that an arc can be freed. */
async function explain(error, signal) {
  const contradiction = error.code === "contradiction";
  try {
    if (contradiction) answer = await (await parse(request(state, { plain: true }), signal)).json();
  } catch (other) {
    if (other.name === "AbortError") return;
    answer = null;
  }
  fail(contradiction ? `${error.message}. Free an arc to continue.` : error.message);
  say("");
  if (contradiction && best()) draw();
  else $("result").hidden = true;
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(update, WAIT);
}

/** Draw the current sentence. */
function draw() {
  $("result").hidden = false;
  const count = answer.sentences.length;
  $("pager").hidden = count < 2;
  $("place").textContent = `${state.sentence} / ${count}`;
  $("previous").disabled = state.sentence <= 1;
  $("next").disabled = state.sentence >= count;
  for (const view of VIEWS) {
    const tab = $(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === state.view));
    tab.tabIndex = view === state.view ? 0 : -1;
  }
  $("figure").setAttribute("aria-labelledby", `tab-${state.view}`);
  const current = tree();
  if (state.view === "arcs") place(drawArcs(current, fixed(), listeners), "Dependency tree, scrolls sideways");
  else if (state.view === "bht") place(drawTree(current, null, hovering), "Binary head tree, scrolls sideways");
  else if (state.view === "tags") $("figure").replaceChildren(drawTags(current));
  else $("figure").replaceChildren(drawSteps(current, state.step, step));
  shown = Math.min(shown, current.words.length);
  drawPanels();
  remember();
}

function place(drawing, label) {
  $("figure").replaceChildren(element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, drawing));
}

function drawPanels() {
  const current = tree();
  showWord($("word-body"), current, current.words[(chosen || shown) - 1], chosen > 0, { fix, cancel });
  showTrees($("trees-body"), trees(), state.tree, Object.keys(fixed()).length > 0, (number) => {
    state.tree = number;
    state.step = 0;
    draw();
    $("trees-body").querySelectorAll("button")[number - 1]?.focus();
    say(`Tree ${number} of ${trees().length}.`);
  });
  showFixed($("fixed-body"), current, fixed(), free, freeAll);
}

/** Return the listeners of a word that can be clicked. */
function listeners(word) {
  return {
    mouseenter: () => point(word.id),
    mouseleave: () => point(0),
    focus: () => point(word.id),
    click: () => pick(word.id),
    keydown: (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        pick(word.id);
      }
      const to = { ArrowRight: word.id + 1, ArrowLeft: word.id - 1, Home: 1, End: tree().words.length }[event.key];
      const other = to && drawing()?.querySelector(`[data-word="${to}"]`);
      if (other) {
        event.preventDefault();
        for (const each of drawing().querySelectorAll(".word")) each.setAttribute("tabindex", -1);
        other.setAttribute("tabindex", 0);
        other.focus();
      }
    },
  };
}

/** Return the listeners of a word that cannot be clicked. */
function hovering(word) {
  return { mouseenter: () => point(word.id), mouseleave: () => point(0) };
}

const drawing = () => $("figure").querySelector("svg");

function point(id) {
  if (id) shown = id;
  const words = drawing()?.querySelector(".word") ? drawing() : null;
  if (words) light(words, id || chosen);
  if (id) showWord($("word-body"), tree(), tree().words[(chosen || id) - 1], chosen > 0, { fix, cancel });
}

/** The first click chooses a word, the second its head. */
function pick(id) {
  if (chosen === id) return cancel();
  if (chosen) return fix(chosen, id);
  chosen = id;
  drawing().querySelector(`[data-word="${id}"]`).setAttribute("aria-pressed", "true");
  light(drawing(), id);
  drawPanels();
  say(`Now choose the head of “${form(tree(), id)}”. Press Escape to cancel.`);
}

function cancel() {
  const was = chosen;
  chosen = 0;
  drawing()?.querySelector('[aria-pressed="true"].word')?.setAttribute("aria-pressed", "false");
  drawPanels();
  if (was) say("No arc was fixed.");
}

async function fix(word, head) {
  const told = `Fixed: ${form(best(), word)} ← ${form(best(), head)}.`;
  state.fixed = { ...state.fixed, [state.sentence]: { ...fixed(), [word]: head } };
  shown = word;
  await refit(told, word);
}

async function free(word) {
  const left = { ...fixed() };
  delete left[word];
  state.fixed = { ...state.fixed, [state.sentence]: left };
  if (!Object.keys(left).length) delete state.fixed[state.sentence];
  await refit("Freed.", word);
}

async function freeAll() {
  delete state.fixed[state.sentence];
  await refit("All arcs are free.", 0);
}

async function refit(told, word) {
  state.tree = 1;
  await update();
  if ($("error").hidden && best()) {
    say(`${told} ${word ? tell(best(), best().words[word - 1]) : ""}`);
    drawing()?.querySelector(`[data-word="${word}"]`)?.focus();
  }
}

function step(to, focus) {
  state.step = to;
  const scroll = [...$("figure").querySelectorAll(".scroll, .table")].map((each) => [each.scrollLeft, each.scrollTop]);
  draw();
  [...$("figure").querySelectorAll(".scroll, .table")].forEach((each, index) => each.scrollTo(...(scroll[index] ?? [0, 0])));
  const row = $("figure").querySelector("[aria-current]");
  const table = $("figure").querySelector(".table");
  if (row && table) table.scrollTop = Math.max(0, row.offsetTop - table.clientHeight / 2);
  const again = $("figure").querySelector(`.steps-bar [aria-label="${focus}"]:not(:disabled)`) ?? $("figure").querySelector(".steps-bar input");
  again?.focus();
}

function turn(to) {
  Object.assign(state, { sentence: to, tree: 1, step: 0 });
  shown = chosen = 0;
  draw();
  say(`Sentence ${to}: ${best().text}`);
}

function look(view) {
  state.view = view;
  chosen = 0;
  draw();
  $(`tab-${view}`).focus();
}

/** Copy the current tree in the format that is asked for. */
async function copy(kind) {
  try {
    let text = location.href;
    if (kind === "json") text = JSON.stringify(answer, (key, value) => (key === "layout" ? undefined : value), 1);
    if (kind === "conllu" || kind === "svg") {
      const plain = $("note").hidden ? { tree: state.tree } : { plain: true, probabilities: false, k: 1 };
      const wanted = kind === "svg" ? { sentence: state.sentence, show: state.view === "steps" ? "all" : state.view } : {};
      text = await (await parse(request(state, { to: kind, tags: false, layout: false, ...plain, ...wanted }))).text();
    }
    await toClipboard(text);
    say(`Copied ${{ conllu: "CoNLL-U", json: "JSON", svg: "SVG", link: "the link" }[kind]}.`);
  } catch (error) {
    fail(error.message);
  }
}

function listen() {
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("text").addEventListener("input", () => {
    Object.assign(state, { text: $("text").value, sentence: 1, tree: 1, step: 0, fixed: {} });
    shown = 0;
    $("examples").value = "";
    later();
  });
  $("examples").addEventListener("change", () => {
    if (!$("examples").value) return;
    const text = state.input === "words" ? $("examples").value.replace(/([.,?!])/g, " $1") : $("examples").value;
    Object.assign(state, { text, sentence: 1, tree: 1, step: 0, fixed: {} });
    $("text").value = text;
    shown = 0;
    update();
  });
  for (const name of ["input", "model", "k"]) {
    $(name).addEventListener("change", () => {
      state[name] = name === "k" ? Number($(name).value) : $(name).value;
      Object.assign(state, { tree: 1, fixed: name === "k" ? state.fixed : {} });
      update();
    });
  }
  $("previous").addEventListener("click", () => turn(state.sentence - 1));
  $("next").addEventListener("click", () => turn(state.sentence + 1));
  for (const view of VIEWS) {
    $(`tab-${view}`).addEventListener("click", () => look(view));
    $(`tab-${view}`).addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: VIEWS.length - 1 }[event.key];
      if (by) look(VIEWS[(VIEWS.indexOf(view) + by) % VIEWS.length]);
    });
  }
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button.dataset.copy));
  document.addEventListener("keydown", (event) => event.key === "Escape" && chosen && cancel());
  window.addEventListener("hashchange", () => {
    state = readState(location.hash);
    fillForm();
    update();
  });
}

/** Put the state into the fields. */
function fillForm() {
  $("text").value = state.text;
  $("input").value = state.input;
  $("model").value = state.model;
  if (![...$("k").options].some((each) => each.value === String(state.k))) $("k").append(element("option", {}, String(state.k)));
  $("k").value = String(state.k);
}

async function start() {
  $("examples").append(element("option", { value: "" }, "choose…"), ...EXAMPLES.map((text) => element("option", { value: text }, text)));
  listen();
  try {
    const known = (await models()).models;
    if (known.length > 1) known.push({ name: "auto", text: known.some((model) => model.text) });  // by the language
    $("model").append(...known.map((model) => element("option", { value: model.name }, model.name)));
    $("model-label").hidden = known.length < 2;
    const named = known.find((model) => model.name === state.model) ?? known.find((model) => model.default);
    state.model = named.name;
    if (!state.input) state.input = named.text ? "text" : "words";
  } catch (error) {
    fail(error.message);
  }
  fillForm();
  await update();
}

start();
