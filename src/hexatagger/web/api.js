/** The service behind the page. Every failure becomes an Error whose message can be shown. */

/** Ask for the models there are. */
export async function models() {
  return (await send("v1/models")).json();
}

/** Ask for a parse; `signal` calls it off. Returns the response, of which the caller takes JSON or text. */
export function parse(question, signal) {
  const body = JSON.stringify(question);
  return send("v1/parse", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
}

async function send(address, options = {}) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service cannot be reached. Is it still running?");
  }
  if (response.ok) return response;
  const told = await response.json().then((answer) => answer.error, () => null);
  const error = new Error(told?.message ?? `The service answered with ${response.status}.`);
  error.code = told?.code;
  throw error;
}
