/** Calls of the service. Every failure becomes an Error with a message for the user. */

/** Return the models of the service. */
export async function models() {
  return (await send("v1/models")).json();
}

/** Parse; `signal` cancels. Returns the response, from which the caller takes JSON or text. */
export function parse(request, signal) {
  const body = JSON.stringify(request);
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
