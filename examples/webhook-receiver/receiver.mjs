// Takes dispatches by signed webhook and gives each prompt to a command. Needs Node 20 and `npm ci`.
//
//   node receiver.mjs COMMAND [ARGUMENT…]
//
// COMMAND reads the prompt from its standard input and has taken it when it ends with 0. Ending with 75 it refuses:
// the answer is given back. WEBHOOK_SECRET is the `secret` of the server's settings, PORT where to listen (0: any).
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

const [command, ...args] = process.argv.slice(2);
const secret = process.env.WEBHOOK_SECRET;
if (!command || !secret) {
  console.error("usage: WEBHOOK_SECRET=whsec_… node receiver.mjs COMMAND [ARGUMENT…]");
  process.exit(2);
}
const webhook = new Webhook(secret);
const REFUSED = 75;

// By dispatch: its process, "taken" or "never". One that is to outlive a restart belongs into a database.
const known = new Map();

function run(id, prompt) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["pipe", "inherit", "inherit"] });
    known.set(id, child);
    child.once("error", () => resolve(REFUSED));
    child.once("close", resolve);
    child.stdin.on("error", () => {}).end(prompt);
  });
}

// 2xx: taken. 422: not taken. 409: that id came before. 5xx: nobody can tell.
async function post(id, body) {
  const { type, data } = JSON.parse(body);
  if (type === "turn.interrupted") return stop(data.turnId);
  if (known.get(id) === "never") return 422;
  if (known.has(id)) return 409;
  const code = await run(id, data.prompt);
  if (known.get(id) === "never") return 422;
  known.set(id, code === 0 ? "taken" : code === REFUSED ? "never" : "unknown");
  return { taken: 202, never: 422, unknown: 500 }[known.get(id)];
}

// Its turn is over: a command that still works on it has nothing to work for.
function stop(id) {
  known.get(id)?.kill?.("SIGTERM");
  return 204;
}

// 204: it never will be taken, not even if its POST comes later. 409: it was, or may have been.
function remove(id) {
  const state = known.get(id);
  if (state === "taken" || state === "unknown") return 409;
  known.set(id, "never");
  state?.kill?.("SIGKILL");
  return 204;
}

async function answer(request) {
  let body = "";
  for await (const part of request.setEncoding("utf8")) body += part;
  try {
    webhook.verify(body, request.headers);
  } catch (error) {
    // After the signature the library reads JSON, and a DELETE has no body.
    if (error instanceof WebhookVerificationError || body) return 401;
  }
  const id = request.headers["webhook-id"];
  console.log(`${request.method} ${id}`);
  return request.method === "DELETE" ? remove(id) : request.method === "POST" ? post(id, body) : 405;
}

const server = createServer((request, response) =>
  answer(request).then(
    (status) => response.writeHead(status).end(),
    (error) => response.writeHead(500).end(String(error.message)),
  ),
);
server.listen(Number(process.env.PORT ?? 8788), "127.0.0.1", () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}`),
);
