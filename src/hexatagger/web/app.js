/** The page: sends the input to the service and draws the answer. Its state is always in the address. */

import { models, parse } from "./api.js";
import { drawArcs, light, tell } from "./arcs.js";
import { element, percent, scale, shown as form } from "./dom.js";
import { drawDown } from "./down.js";
import { examples } from "./examples.js";
import { download, toClipboard, toPng, write } from "./export.js";
import { showChoosing, showFixed, showGlossary, showLegend, showSentences, showTrees, showWord } from "./panels.js";
import { FIT, VIEWS, ZOOMS, readState, request, writeState } from "./state.js";
import { drawTable } from "./table.js";
import { explainRelations } from "./tooltip.js";
import { drawSteps, drawTags, drawTree } from "./tree.js";

const WAIT = 250; // milliseconds after the last key before the input is parsed
const PHONE = 560; // pixels: on a narrower page trees have one word per row
const LEAST = 0.72; // a tree that must be made smaller than this to fit has one word per row too; other drawings scroll
const NAMES = { conllu: "CoNLL-U", json: "JSON", svg: "SVG", png: "PNG", link: "the link" };

const $ = (id) => document.getElementById(id);
let state = readState(location.hash);
let answer = null; // the last answer of the service
let shown = 0; // the word in the panel
let chosen = 0; // the word whose head the user is choosing
let known = []; // the models of the service
let factor = 1; // the scale of the drawing
let timer = 0;
let running = null;

const best = () => answer?.sentences[state.sentence - 1];
const trees = () => [best(), ...(best().alternatives ?? [])];
const tree = () => trees()[Math.min(state.tree, trees().length) - 1];
const fixed = () => state.fixed[state.sentence] ?? {};
const model = (name) => known.find((each) => each.name === name);
const title = ({ name, language_name: language }) => (language ? `${language} (${name})` : name);

function say(text) {
  $("status").textContent = text;
}

function fail(text) {
  $("error").textContent = text.charAt(0).toUpperCase() + text.slice(1);
  $("error").hidden = !text;
}

/** Show a warning of the service. If there are other models, offer to choose one by the language. */
function warn(text) {
  $("warning").hidden = !text;
  $("warning").replaceChildren(text ? `Warning: ${text}. ` : "");
  if (text && known.length > 2 && state.model !== "auto") {
    const change = () => {
      $("model").value = "auto";
      $("model").dispatchEvent(new Event("change"));
    };
    $("warning").append(element("button", { type: "button", click: change }, "Choose the model by the language"));
  }
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
    warn("");
    say(`Type a sentence${model(state.model)?.language_name ? ` in ${model(state.model).language_name}` : ""}, or choose an example.`);
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
  showSentences($("sentences"), answer.sentences, state.sentence, turn);
  draw();
  warn(answer.warning);
  const words = answer.sentences.reduce((sum, each) => sum + each.words.length, 0);
  const sure = best().probability === undefined ? "" : `; the tree has ${percent(best().probability)}`;
  const by = state.model === "auto" ? ` Model: ${title(model(answer.model))}.` : "";
  say(`${words} words in ${answer.sentences.length} ${answer.sentences.length > 1 ? "sentences" : "sentence"}${sure}.${by}`);
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
  warn("");
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
  $("pager").hidden = $("list").hidden = count < 2;
  mark(state.sentence);
  $("place").textContent = `${state.sentence} / ${count}`;
  $("previous").disabled = state.sentence <= 1;
  $("next").disabled = state.sentence >= count;
  for (const view of VIEWS) {
    const tab = $(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === state.view));
    tab.tabIndex = view === state.view ? 0 : -1;
  }
  $("figure").setAttribute("aria-labelledby", `tab-${state.view}`);
  $("layout-label").hidden = state.view !== "arcs";
  $("zoom").hidden = ["table", "tags"].includes(state.view);
  $("legend").hidden = !["arcs", "table"].includes(state.view);
  $("layout").value = state.layout;
  $("stage").classList.toggle("beside", isDown());
  const current = tree();
  if (state.view === "arcs") place((isDown() ? drawDown : drawArcs)(current, fixed(), listeners), "Dependency tree, scrolls sideways");
  else if (state.view === "table") $("figure").replaceChildren(drawTable(current, hovering, point));
  else if (state.view === "bht") place(drawTree(current, null, hovering), "Binary head tree, scrolls sideways");
  else if (state.view === "tags") $("figure").replaceChildren(drawTags(current));
  else $("figure").replaceChildren(drawSteps(current, state.step, step, fitted));
  showLegend($("legend"), current);
  shown = Math.min(shown, current.words.length);
  drawPanels();
  remember();
}

function place(drawing, label) {
  $("figure").replaceChildren(element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, fitted(drawing)));
}

const MARGINS = 24; // pixels around a drawing

/** Say whether the tree has one word per row. */
function isDown() {
  if (state.view !== "arcs" || state.layout !== "auto") return state.view === "arcs" && state.layout === "down";
  const room = $("result").clientWidth - MARGINS;
  return room < PHONE || LEAST * tree().layout.arcs.width > room;
}

/** Scale a drawing as the user wants, or so that it fits; it is never made larger to fit. */
function fitted(drawing) {
  const fit = Math.min(1, ($("figure").clientWidth - MARGINS) / Number(drawing.getAttribute("width")));
  factor = state.zoom > FIT ? state.zoom / 100 : state.zoom === FIT || state.view === "arcs" ? fit : Math.max(fit, LEAST);
  $("scale").textContent = `${Math.round(100 * factor)} %`;
  $("smaller").disabled = 100 * factor <= ZOOMS[0];
  $("larger").disabled = 100 * factor >= ZOOMS[1] - 1;
  $("fit").disabled = factor === fit;
  return scale(drawing, factor);
}

function zoom(percentage) {
  state.zoom = percentage === FIT ? FIT : Math.min(Math.max(Math.round(percentage), ZOOMS[0]), ZOOMS[1] - 1);
  chosen = 0;
  draw();
  say(`Zoom: ${$("scale").textContent}.`);
}

/** Mark a sentence in the list, and scroll the list to it. */
function mark(number) {
  for (const button of $("sentences").querySelectorAll("button")) {
    const current = Number(button.dataset.sentence) === number;
    button.setAttribute("aria-current", String(current));
    if (current) $("list").scrollTop += Math.max(0, button.offsetTop + button.offsetHeight - $("list").scrollTop - $("list").clientHeight) - Math.max(0, $("list").scrollTop - button.offsetTop);
  }
}

function drawPanels() {
  const current = tree();
  showWord($("word-body"), current, current.words[(chosen || shown) - 1], fix);
  showChoosing($("choosing"), current, chosen, fix, cancel);
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
      const to = { ArrowRight: word.id + 1, ArrowLeft: word.id - 1, ArrowDown: isDown() && word.id + 1, ArrowUp: isDown() && word.id - 1, Home: 1, End: tree().words.length }[event.key];
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
  if (id) showWord($("word-body"), tree(), tree().words[(chosen || id) - 1], fix);
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
  const [box, now] = [$("figure").querySelector("div.scroll"), $("figure").querySelector("svg .now")];
  if (now) {
    const [seen, place] = [box.getBoundingClientRect(), now.getBoundingClientRect()];
    if (place.left < seen.left || place.right > seen.right) box.scrollLeft += place.left - seen.left - seen.width / 2;
  }
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

const written = (kind) => write(kind, state, answer, { plain: !$("note").hidden, down: isDown() });

/** Copy the current tree in the format that is asked for. */
async function copy(kind) {
  try {
    await toClipboard(kind === "link" ? location.href : await written(kind));
    say(`Copied ${NAMES[kind]}.`);
  } catch (error) {
    fail(error.message);
  }
}

/** Save the current tree, or all trees in formats that hold several sentences, as a file. */
async function save(kind) {
  try {
    const picture = kind === "svg" || kind === "png";
    download(`${picture ? `sentence-${state.sentence}` : "sentences"}.${kind}`, kind === "png" ? await toPng(await written("svg")) : await written(kind));
    say(`Downloaded ${NAMES[kind]}.`);
  } catch (error) {
    fail(error.message);
  }
}

/** Return a sentence to begin with in the language of the model, cut into words if the model needs that. */
const cut = (text) => (state.input === "words" ? text.replace(/([.,?!])/g, " $1") : text);
const first = () => cut(examples(model(state.model)?.language)[0] ?? "");

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
    const text = cut($("examples").value);
    Object.assign(state, { text, sentence: 1, tree: 1, step: 0, fixed: {} });
    $("text").value = text;
    shown = 0;
    update();
  });
  for (const name of ["input", "model", "k"]) {
    $(name).addEventListener("change", () => {
      const isExample = examples(model(state.model)?.language).some((each) => cut(each) === state.text);
      state[name] = name === "k" ? Number($(name).value) : $(name).value;
      Object.assign(state, { tree: 1, fixed: name === "k" ? state.fixed : {} });
      if (name === "model" && isExample && state.model !== "auto") state.text = first();
      fillForm();
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
  $("layout").addEventListener("change", () => {
    state.layout = $("layout").value;
    chosen = 0;
    draw();
  });
  $("smaller").addEventListener("click", () => zoom(80 * factor));
  $("larger").addEventListener("click", () => zoom(125 * factor));
  $("fit").addEventListener("click", () => zoom(FIT));
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button.dataset.copy));
  for (const button of document.querySelectorAll("[data-download]")) button.addEventListener("click", () => save(button.dataset.download));
  $("glossary").addEventListener("toggle", () => showGlossary($("glossary-body")), { once: true });
  explainRelations($("figure"), $("tip"));
  let wide = innerWidth; // scrolling a phone changes the height, which changes nothing here
  window.addEventListener("resize", () => {
    if (innerWidth === wide) return;
    wide = innerWidth;
    chosen = 0;
    if (best() && !$("result").hidden) draw();
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && chosen && cancel());
  window.addEventListener("hashchange", () => {
    state = readState(location.hash);
    complete();
    fillForm();
    update();
  });
}

/** Put the state into the fields. */
function fillForm() {
  $("text").value = state.text;
  $("input").value = state.input;
  $("model").value = state.model;
  const texts = examples(model(state.model)?.language);
  $("examples").replaceChildren(element("option", { value: "" }, "choose…"), ...texts.map((text) => element("option", { value: text }, text.length > 60 ? `${text.slice(0, 58)}…` : text)));
  $("examples").value = texts.find((each) => cut(each) === state.text) ?? "";
  if (![...$("k").options].some((each) => each.value === String(state.k))) $("k").append(element("option", {}, String(state.k)));
  $("k").value = String(state.k);
}

/** Fill in what a link leaves out: the model, the kind of input, and a sentence to begin with. */
function complete() {
  const named = model(state.model) ?? known.find((each) => each.default);
  if (!named) return;
  state.model = named.name;
  if (!state.input) state.input = named.text ? "text" : "words";
  if (!state.text) state.text = first();
}

async function start() {
  listen();
  try {
    known = (await models()).models;
    if (known.length > 1) known.push({ name: "auto", text: known.some((each) => each.text) });
    $("model").append(...known.map((each) => element("option", { value: each.name }, each.name === "auto" ? "by the language" : title(each))));
    complete();
  } catch (error) {
    fail(error.message);
  }
  fillForm();
  await update();
}

start();
