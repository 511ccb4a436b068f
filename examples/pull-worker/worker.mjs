// Gives the prompts of one executor to a command, one process for each. Needs Node 22 and nothing else.
//
//   node worker.mjs NAME COMMAND [ARGUMENT…]
//
// NAME is an executor with kind = "pull" in the server's settings. COMMAND reads the prompt from its standard input;
// what it prints becomes a message of the turn. ANSWERABLE_URL and ANSWERABLE_TOKEN say where the server is and who
// this is; the token's role is `runtime`.
import { spawn } from "node:child_process";

const [executor, command, ...args] = process.argv.slice(2);
const url = new URL(process.env.ANSWERABLE_URL ?? "http://127.0.0.1:8787");
const token = process.env.ANSWERABLE_TOKEN;
if (!executor || !command) {
  console.error("usage: node worker.mjs NAME COMMAND [ARGUMENT…]");
  process.exit(2);
}

async function call(query, variables) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const body = JSON.stringify({ query, variables });
  const response = await fetch(new URL("/graphql", url), { method: "POST", headers, body });
  const { data, errors } = await response.json();
  if (errors) throw new Error(errors[0].message);
  return Object.values(data)[0];
}

const CLAIM = `mutation($input: ClaimDispatchInput!) { claimDispatch(input: $input) { __typename
  ... on ClaimDispatchPayload { dispatchId leaseToken sessionId prompt } } }`;
const ACK = `mutation($input: LeaseInput!) { ackDispatch(input: $input) { __typename } }`;
const REJECT = `mutation($input: LeaseInput!, $reason: String!) {
  rejectDispatch(input: $input, reason: $reason) { __typename } }`;
const SAY = `mutation($input: AppendMessageInput!) { appendMessage(input: $input) { __typename } }`;
const COMPLETE = `mutation($session: ID!, $turn: ID!) {
  completeTurn(sessionId: $session, turnId: $turn) { __typename } }`;

// Only one worker gets a dispatch. What it neither acknowledges nor refuses before its lease ends is unknown to the
// server, which gives it to nobody else: so refuse only what surely did not begin.
async function take({ dispatchId }) {
  const claimed = await call(CLAIM, { input: { executor, dispatchId } });
  if (claimed.__typename !== "ClaimDispatchPayload") return;
  const lease = { dispatchId, leaseToken: claimed.leaseToken };
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const started = new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  try {
    await started;
  } catch (error) {
    await call(REJECT, { input: lease, reason: error.message });
    return;
  }
  const acknowledged = await call(ACK, { input: lease });
  console.log(`${dispatchId} ${acknowledged.__typename}`);
  child.stdin.on("error", () => {}).end(claimed.prompt);
  let content = "";
  for await (const part of child.stdout.setEncoding("utf8")) content += part;
  if (content.trim()) {
    await call(SAY, { input: { sessionId: claimed.sessionId, turnId: dispatchId, content } });
  }
  await call(COMPLETE, { session: claimed.sessionId, turn: dispatchId });
}

function follow() {
  const address = new URL("/graphql/ws", url);
  address.protocol = url.protocol.replace("http", "ws");
  const socket = new WebSocket(address, "graphql-transport-ws");
  const say = (message) => socket.send(JSON.stringify(message));
  socket.onopen = () =>
    say({ type: "connection_init", payload: token ? { authorization: `Bearer ${token}` } : {} });
  socket.onmessage = ({ data }) => {
    const { type, payload } = JSON.parse(data);
    if (type === "ping") say({ type: "pong" });
    if (type === "connection_ack") {
      const query = "subscription($e: String!) { dispatchAvailable(executor: $e) { dispatchId } }";
      say({ type: "subscribe", id: "offers", payload: { query, variables: { e: executor } } });
      console.log(`waiting for ${executor}`);
    }
    if (type === "next" && payload.data) {
      take(payload.data.dispatchAvailable).catch((error) => console.error(error.message));
    }
    if (type === "error") console.error(payload[0].message);
  };
  // A server that went away comes back: what it offers then is told again.
  socket.onclose = () => setTimeout(follow, 1000);
}
follow();
