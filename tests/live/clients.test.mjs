// Real clients: each connects, subscribes, loses its server, comes back and goes on where it was.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { Client, createRequest, fetchExchange, subscriptionExchange } from '@urql/core';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient } from 'graphql-ws';
import { onEnd, pipe, subscribe } from 'wonka';
import WebSocket from 'ws';

import { Process } from '../process.mjs';

globalThis.WebSocket ??= WebSocket; // Apollo looks at it when it is told of an error

const FOLLOW = 'subscription ($after: Cursor) { taskChanges(after: $after) { __typename cursor ... on TaskChanged { task { title } } } }';
const QUERY = '{ viewer { __typename } }';
const CREATE = 'mutation ($title: String!) { createTask(input: { title: $title }) { __typename } }';

/** What was heard, and waits for more of it. */
class Heard {
  #items = [];
  #wake = () => {};

  push(item) {
    this.#items.push(item);
    this.#wake();
  }

  get cursor() {
    return this.#items.at(-1)?.cursor;
  }

  titles() {
    return this.#items.filter((item) => item.task).map((item) => item.task.title);
  }

  async until(isEnough) {
    while (!isEnough(this.#items)) await new Promise((resolve) => (this.#wake = resolve));
  }
}

const hasTitle = (title) => (items) => items.some((item) => item.task?.title === title);
const hasSnapshot = (items) => items.some((item) => item.__typename === 'TaskSnapshot');

/**
 * The same story for every client. `follow(variables, heard)` subscribes and returns how to stop; a client whose
 * subscription ends with its server is subscribed again behind its cursor.
 */
async function story(server, follow) {
  const heard = new Heard();
  const stop = follow(() => ({ after: heard.cursor ?? null }), heard);
  await heard.until(hasSnapshot);
  await server.graphql(CREATE, { title: 'before' });
  await heard.until(hasTitle('before'));
  await server.stop('SIGTERM');
  await server.start();
  await server.graphql(CREATE, { title: 'while away or after' });
  await heard.until(hasTitle('while away or after'));
  await stop();
  assert.deepEqual(heard.titles(), ['before', 'while away or after'], 'nothing twice, nothing missed');
}

/** Runs `check` with a server of its own. */
function withServer(name, check) {
  test(name, { timeout: 60_000 }, async () => {
    const server = await new Process().start();
    try {
      await check(server);
    } finally {
      await server.stop('SIGKILL');
    }
  });
}

const http = (server) => `http://${server.address}/graphql`;
const socketClient = (server, more = {}) =>
  createClient({ url: `ws://${server.address}/graphql/ws`, webSocketImpl: WebSocket, retryAttempts: 50, retryWait: () => new Promise((resolve) => setTimeout(resolve, 100)), shouldRetry: () => true, ...more });

describe('graphql-ws', () => {
  withServer('subscribes, reconnects and resumes', async (server) => {
    const client = socketClient(server);
    await story(server, (variables, heard) => {
      // Its variables are read again for each connection.
      const payload = { query: FOLLOW, get variables() { return variables(); } };
      return client.subscribe(payload, { next: ({ data }) => heard.push(data.taskChanges), error: (error) => assert.fail(String(error)), complete() {} });
    });
    await client.dispose();
  });

  withServer('queries, and hears what is wrong with a request', async (server) => {
    const client = socketClient(server, { lazy: true });
    const results = [];
    for await (const result of client.iterate({ query: QUERY })) results.push(result);
    assert.deepEqual(results, [{ data: { viewer: { __typename: 'Viewer' } } }]);
    await assert.rejects(async () => {
      for await (const _ of client.iterate({ query: '{ nothingOfTheKind }' }));
    }, (errors) => errors[0].extensions.code === 'GRAPHQL_VALIDATION_FAILED');
    await client.dispose();
  });

  withServer('does not come back with credentials that were refused for good', async (server) => {
    const client = createClient({ url: `ws://${server.address}/graphql/ws`, webSocketImpl: WebSocket, retryAttempts: 1, connectionParams: { authorization: 'Bearer nonsense' } });
    await assert.rejects(async () => {
      for await (const _ of client.iterate({ query: QUERY }));
    }, (event) => event.code === 4403);
  });
});

describe('Apollo Client', () => {
  const apollo = (server) => {
    const socket = socketClient(server);
    const client = new ApolloClient({ cache: new InMemoryCache(), link: new HttpLink({ uri: http(server), fetch }) });
    const live = new ApolloClient({ cache: new InMemoryCache(), link: new GraphQLWsLink(socket) });
    return { client, live, socket };
  };

  withServer('queries, keeps partial data and tells errors of a request', async (server) => {
    const { client } = apollo(server);
    assert.equal((await client.query({ query: gql(QUERY) })).data.viewer.__typename, 'Viewer');
    const bad = gql('{ nothingOfTheKind }');
    const { error } = await client.query({ query: bad, errorPolicy: 'all' });
    assert.equal(error.errors[0].extensions.code, 'GRAPHQL_VALIDATION_FAILED');
  });

  withServer('subscribes, reconnects and resumes', async (server) => {
    const { live, socket } = apollo(server);
    await story(server, (variables, heard) => {
      let current;
      // A subscription of Apollo keeps its variables, so a lost one is begun again behind the cursor.
      const begin = () => {
        current = live.subscribe({ query: gql(FOLLOW), variables: variables(), fetchPolicy: 'no-cache' }).subscribe({ next: ({ data }) => heard.push(data.taskChanges), error: begin });
      };
      const renew = socket.on('closed', () => {
        current.unsubscribe();
        begin();
      });
      begin();
      return () => {
        renew();
        current.unsubscribe();
      };
    });
    await socket.dispose();
  });

  withServer('is told over the socket what is wrong with a request', async (server) => {
    const { live, socket } = apollo(server);
    const error = await new Promise((resolve) => live.subscribe({ query: gql('subscription { nothingOfTheKind }') }).subscribe({ next: (result) => result.error && resolve(result.error), error: resolve }));
    assert.match(JSON.stringify(error.errors ?? error), /GRAPHQL_VALIDATION_FAILED/);
    await socket.dispose();
  });
});

describe('urql', () => {
  /** A subscription that is begun again behind the cursor whenever it ends. */
  const subscribing = (client, variables, heard) => {
    let current;
    let isStopped = false;
    const begin = () => {
      if (isStopped) return;
      const again = onEnd(() => setTimeout(begin, 100));
      // When a stream ends urql repeats its last result, and says that no other follows.
      const hear = subscribe(({ data, hasNext }) => hasNext && data?.taskChanges && heard.push(data.taskChanges));
      current = pipe(client.executeSubscription(createRequest(FOLLOW, variables())), again, hear);
    };
    begin();
    return () => {
      isStopped = true;
      current.unsubscribe();
    };
  };

  withServer('queries and mutates over HTTP', async (server) => {
    const client = new Client({ url: http(server), exchanges: [fetchExchange], preferGetMethod: false, fetch });
    assert.equal((await client.query(QUERY, {})).data.viewer.__typename, 'Viewer');
    assert.equal((await client.mutation(CREATE, { title: 'x' })).data.createTask.__typename, 'TaskPayload');
    assert.match((await client.query('{ nothingOfTheKind }', {})).error.message, /nothingOfTheKind/);
  });

  withServer('subscribes, reconnects and resumes over WebSocket', async (server) => {
    const socket = socketClient(server, { shouldRetry: () => false });
    const forwardSubscription = (request) => ({ subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query: request.query, variables: request.variables }, sink) }) });
    const client = new Client({ url: http(server), exchanges: [subscriptionExchange({ forwardSubscription })], fetch });
    await story(server, (variables, heard) => subscribing(client, variables, heard));
    await socket.dispose();
  });

  withServer('subscribes, comes back and resumes over server-sent events', async (server) => {
    const client = new Client({ url: http(server), exchanges: [fetchExchange], fetchSubscriptions: true, preferGetMethod: false, fetch });
    await story(server, (variables, heard) => subscribing(client, variables, heard));
  });
});

describe('graphql-sse', () => {
  withServer('subscribes, reconnects and resumes', async (server) => {
    const client = createSseClient({ url: http(server), singleConnection: false, fetchFn: fetch, retryAttempts: 50, retry: () => new Promise((resolve) => setTimeout(resolve, 100)) });
    await story(server, (variables, heard) => {
      const payload = { query: FOLLOW, get variables() { return variables(); } };
      return client.subscribe(payload, { next: ({ data }) => heard.push(data.taskChanges), error: (error) => assert.fail(String(error)), complete() {} });
    });
    client.dispose();
  });
});
