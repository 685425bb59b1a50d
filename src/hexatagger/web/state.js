/** The state of the page, as it is written in a link: #text=…&view=bht&fix=1.3.2 */

export const VIEWS = ["arcs", "table", "bht", "tags", "steps"];
const LAYOUTS = ["auto", "across", "down"];
export const ZOOMS = [20, 401]; // percent, from and below; besides them 0: automatic, and FIT: as small as the page is
export const FIT = 1;
const INPUTS = ["text", "words"];
const PLAIN = { text: "", input: "", model: "", view: "arcs", layout: "auto", zoom: 0, k: 5, sentence: 1, tree: 1, step: 0, fixed: {} };

/** Read the part of a link after #; invalid values are ignored. */
export function readState(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...PLAIN, fixed: {} };
  state.text = given.get("text") ?? "";
  state.model = given.get("model") ?? "";
  if (INPUTS.includes(given.get("input"))) state.input = given.get("input");
  if (VIEWS.includes(given.get("view"))) state.view = given.get("view");
  if (LAYOUTS.includes(given.get("layout"))) state.layout = given.get("layout");
  for (const [name, least, most] of [["k", 1, 1e6], ["sentence", 1, 1e6], ["tree", 1, 1e6], ["step", 0, 1e6], ["zoom", ...ZOOMS]]) {
    const value = Number(given.get(name) ?? NaN);
    if (Number.isInteger(value) && value >= least && value < most) state[name] = value;
  }
  if (given.get("zoom") === String(FIT)) state.zoom = FIT;
  for (const each of (given.get("fix") ?? "").split(",")) {
    const match = /^(\d{1,5})\.(\d{1,5})\.(\d{1,5})$/.exec(each);
    if (match) (state.fixed[Number(match[1])] ??= {})[Number(match[2])] = Number(match[3]);
  }
  return state;
}

/** Write the part of a link after #. */
export function writeState(state) {
  const given = new URLSearchParams();
  for (const name of ["text", "input", "model", "view", "layout", "zoom", "k", "sentence", "tree", "step"]) {
    if (state[name] !== PLAIN[name]) given.set(name, state[name]);
  }
  const fixed = Object.entries(state.fixed).flatMap(([sentence, heads]) => Object.entries(heads).map(([word, head]) => `${sentence}.${word}.${head}`));
  if (fixed.length) given.set("fix", fixed.join(","));
  return given.toString();
}

/** Make the request that the state stands for. */
export function request(state, more = {}) {
  const asked = { probabilities: true, k: state.k, tags: true, layout: true, ...more };
  if (state.model) asked.model = state.model;
  if (state.input === "words") asked.words = sentences(state.text);
  else asked.text = state.text;
  const last = Math.max(0, ...Object.keys(state.fixed).map(Number));
  if (last && !more.plain) {
    asked.constraints = Array.from({ length: last }, (_, index) => (state.fixed[index + 1] ? { heads: state.fixed[index + 1] } : null));
  }
  delete asked.plain;
  return asked;
}

function sentences(text) {
  const lines = text.split("\n").map((line) => line.split(/\s+/u).filter(Boolean));
  return lines.filter((words) => words.length);
}
