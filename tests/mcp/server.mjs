// Starts the server under test and prepares sessions in it. Tokens of agents, one per session, and one of a person.
import { Process } from '../process.mjs';
import { Client, StreamableHTTPClientTransport } from './peers/node_modules/@modelcontextprotocol/client/dist/index.mjs';

export { BINARY } from '../process.mjs';

export class Server extends Process {
  get url() {
    return `http://${this.address}/mcp`;
  }

  /** One task with that many sessions, their agents' tokens and a person's. */
  async seed(count) {
    const { createTask } = await this.graphql(CREATE_TASK, {});
    const agents = [];
    for (let n = 0; n < count; n += 1) {
      const { createSession } = await this.graphql(CREATE_SESSION, { taskId: createTask.taskId });
      agents.push(await this.#token('AGENT', createSession.sessionId));
    }
    // The last one: once somebody other than an agent has a token, nobody is let in without one.
    return { agents, person: await this.#token('PERSON', null) };
  }

  async #token(role, sessionId) {
    return (await this.graphql(CREATE_TOKEN, { role, sessionId })).createToken.token;
  }
}

const CREATE_TASK = 'mutation { createTask(input: {title: "Peers"}) { ... on TaskPayload { taskId } } }';
const CREATE_SESSION = `mutation ($taskId: ID!) {
  createSession(input: {taskId: $taskId}) { ... on SessionPayload { sessionId } }
}`;
const CREATE_TOKEN = `mutation ($role: Role!, $sessionId: ID) {
  createToken(input: {role: $role, sessionId: $sessionId, name: "peers"}) { ... on CreateTokenPayload { token } }
}`;

/** A client of the server for one piece of work. */
export async function connected(server, token, work) {
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const requestInit = { headers: token ? { Authorization: `Bearer ${token}` } : {} };
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** One tool call's structured result; a refusal is thrown as what the tool said. */
export async function tool(server, token, name, args) {
  const result = await connected(server, token, (client) => client.callTool({ name, arguments: args }));
  if (result.isError) throw new Refusal(JSON.parse(result.content[0].text).error);
  return result.structuredContent;
}

export class Refusal extends Error {
  constructor(error) {
    super(error.message);
    Object.assign(this, error);
  }
}
