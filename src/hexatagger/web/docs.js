/** The interface as openapi.json describes it, and a form to try it. */

import { element } from "./dom.js";

const $ = (id) => document.getElementById(id);

/** Describe a schema in a few words. */
function kind(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.enum) return schema.enum.join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map(kind).join(" or ");
  if (schema.prefixItems) return `[${schema.prefixItems.map(kind).join(", ")}]`;
  if (schema.type === "array") return `list of ${kind(schema.items) || "anything"}`;
  if (schema.patternProperties) return `object: word → ${kind(Object.values(schema.patternProperties)[0])}`;
  return [schema.type].flat().join(" or ");
}

function table(names, rows) {
  const head = element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)));
  const lines = rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  return element("div", { class: "wide", tabindex: 0 }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines)));
}

const body = (operation) => kind(operation.requestBody.content["application/json"].schema);

function showPath(path, method, operation) {
  const answers = Object.entries(operation.responses).map(([status, each]) => [status, Object.keys(each.content ?? {}).join(", "), each.description]);
  const needs = operation.requestBody ? element("p", {}, "Body: ", element("code", {}, "application/json"), ", a ", element("a", { href: `#${body(operation)}` }, body(operation))) : null;
  return element("article", {}, element("h2", {}, element("code", {}, `${method.toUpperCase()} ${path}`)), element("p", {}, operation.description ?? operation.summary), needs, element("h3", {}, "Answers"), table(["Status", "Type", "Meaning"], answers));
}

function showSchema(name, schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([field, each]) => {
    const least = each.default === undefined ? "" : ` Default: ${JSON.stringify(each.default)}.`;
    const most = each.maximum !== undefined && each.maximum < 1e9 ? ` At most ${each.maximum}.` : "";
    return [element("code", {}, field), kind(each), (each.description ?? "") + least + most];
  });
  const one = schema.oneOf?.every((each) => each.required) ? element("p", {}, `Exactly one of ${schema.oneOf.map((each) => each.required[0]).join(", ")} is required; the rest is optional.`) : null;
  return element("article", { id: name }, element("h2", {}, name), one, table(["Field", "Type", "Meaning"], rows));
}

async function send() {
  const began = performance.now();
  try {
    const response = await fetch("v1/parse", { method: "POST", headers: { "Content-Type": "application/json" }, body: $("body").value });
    const text = await response.text();
    const json = response.headers.get("content-type")?.startsWith("application/json");
    $("answer").textContent = json ? JSON.stringify(JSON.parse(text), null, 2) : text;
    $("answer").hidden = false;
    $("status").textContent = `${response.status} in ${Math.round(performance.now() - began)} ms`;
  } catch (error) {
    $("status").textContent = `The service cannot be reached: ${error.message}`;
  }
}

async function start() {
  const api = await (await fetch("openapi.json")).json();
  $("about").textContent = api.info.description;
  const examples = api.paths["/v1/parse"].post.requestBody.content["application/json"].examples;
  $("example").append(...Object.keys(examples).map((name) => element("option", { value: name }, name)));
  const fill = () => ($("body").value = JSON.stringify(examples[$("example").value].value, null, 1));
  $("example").addEventListener("change", fill);
  $("send").addEventListener("click", send);
  fill();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) $("paths").append(showPath(path, method, operation));
  }
  for (const [name, schema] of Object.entries(api.components.schemas)) $("schemas").append(showSchema(name, schema));
}

start();
