// Ask through the official JavaScript SDK, with the same steps as sdk.py.
//
// Arguments   steps, each {do: "answers" | "models", ask, options}; whether they run at once. Prints one result for each.

const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { TypeSafeClient, APIError } = createRequire(process.cwd() + "/")("@typesafe-ai/sdk");

async function perform(step) {
  const client = new TypeSafeClient(step.options ?? {});
  try {
    const pending = step.do === "models" ? client.models.list() : client.systemOne(step.ask);
    const { data, response, requestId } = await pending.withResponse();
    return { data, requestId, status: response.status };
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    const { status, message, requestId, retryAfterMs } = error;
    return { class: error.constructor.name, status, message, requestId, retryAfterMs };
  }
}

async function main() {
  const [steps, together] = JSON.parse(readFileSync(0, "utf8"));
  const done = [];
  if (together) done.push(...(await Promise.all(steps.map(perform))));
  else for (const step of steps) done.push(await perform(step));
  console.log(JSON.stringify(done));
}

main();
