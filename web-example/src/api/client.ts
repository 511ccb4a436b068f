/** The two transports: HTTP for queries and mutations, one WebSocket for what changes. Nothing is cached here. */
import { Client, fetchExchange, stringifyDocument, subscriptionExchange, type AnyVariables, type CombinedError, type ExecutionResult, type OperationResult, type TypedDocumentNode } from '@urql/core';
import { createClient as createSocket, type Client as Socket } from 'graphql-ws';

/** How the socket stands. `retryAt`: when it is tried again, in milliseconds since 1970. */
export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'reconnecting'; readonly retryAt: number }
  | { readonly kind: 'offline' };

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;
/** The server closes a socket whose token is not valid with this code. */
const FORBIDDEN = 4403;
const TOKEN = 'answerable.token';

/** A request that failed as a whole. */
export class Fault extends Error {
  constructor(
    readonly code: string | null,
    readonly isRetryable: boolean,
    message: string,
  ) {
    super(message);
  }

  get isUnauthenticated(): boolean {
    return this.code === 'UNAUTHENTICATED';
  }
}

/** Whatever is asked comes as a whole or not at all: a list of which a part failed is no list. */
export interface Api {
  query<D, V extends AnyVariables>(document: TypedDocumentNode<D, V>, variables: V): Promise<D>;
  mutate<D, V extends AnyVariables>(document: TypedDocumentNode<D, V>, variables: V): Promise<D>;
  /** Past urql, which joins equal queries that overlap: each call is a request of its own, and can be aborted. */
  authoritative<D, V extends AnyVariables>(document: TypedDocumentNode<D, V>, variables: V, signal: AbortSignal): Promise<D>;
  /** Follows until it is stopped; starts again by itself after a lost connection, beginning with a snapshot. */
  follow<D, V extends AnyVariables>(document: TypedDocumentNode<D, V>, variables: V, sink: (data: D) => void): () => void;
  /** Calls back when the socket is live, the first time and again. */
  onLive(listener: () => void): () => void;
  connection(): Connection;
  onConnection(listener: () => void): () => void;
  close(): void;
}

export function storedToken(): string | null {
  return sessionStorage.getItem(TOKEN);
}

export function storeToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, token);
}

export function createApi(): Api {
  const status = createStatus();
  const socket = createFeed(status);
  const client = new Client({
    url: '/graphql',
    preferGetMethod: false,
    requestPolicy: 'network-only',
    fetchOptions: () => ({ headers: authorization() }),
    exchanges: [fetchExchange, subscriptionExchange({ forwardSubscription: (operation) => ({
      subscribe(sink) {
        // The two libraries name one shape twice.
        const next = (value: unknown): void => sink.next(value as ExecutionResult);
        return { unsubscribe: socket.subscribe({ ...operation, query: operation.query ?? '' }, { ...sink, next }) };
      },
    }) })],
  });
  return {
    query: async (document, variables) => whole(await client.query(document, variables).toPromise()),
    mutate: async (document, variables) => whole(await client.mutation(document, variables).toPromise()),
    authoritative,
    follow(document, variables, sink) {
      return client.subscription(document, variables).subscribe(({ data }) => {
        if (data) sink(data);
      }).unsubscribe;
    },
    onLive: status.onLive,
    connection: status.get,
    onConnection: status.subscribe,
    close: () => void socket.dispose(),
  };
}

function authorization(): Record<string, string> {
  const token = storedToken();
  return token ? { authorization: `Bearer ${token}` } : {};
}

function whole<D>({ data, error }: OperationResult<D>): D {
  if (data === undefined || error) throw faultOf(error);
  return data;
}

function faultOf(error: CombinedError | undefined): Fault {
  const extensions = error?.graphQLErrors[0]?.extensions;
  const code = extensions?.['code'];
  const isRetryable = extensions ? extensions['retryable'] === true : true;
  return new Fault(typeof code === 'string' ? code : null, isRetryable, error?.message ?? 'no answer');
}

async function authoritative<D, V extends AnyVariables>(
  document: TypedDocumentNode<D, V>,
  variables: V,
  signal: AbortSignal,
): Promise<D> {
  const response = await fetch('/graphql', {
    method: 'POST',
    cache: 'no-store',
    headers: { ...authorization(), 'content-type': 'application/json', accept: 'application/graphql-response+json' },
    body: JSON.stringify({ query: stringifyDocument(document), variables }),
    signal,
  });
  const body: { data?: D | null; errors?: readonly { message: string }[] } = await response.json();
  const [first] = body.errors ?? [];
  if (first || !body.data) throw new Fault(null, false, first?.message ?? 'no answer');
  return body.data;
}

interface Status {
  get(): Connection;
  set(connection: Connection): void;
  subscribe(listener: () => void): () => void;
  onLive(listener: () => void): () => void;
}

function createStatus(): Status {
  let connection: Connection = { kind: 'connecting' };
  const [listeners, live] = [new Set<() => void>(), new Set<() => void>()];
  const add = (all: Set<() => void>) => (listener: () => void) => {
    all.add(listener);
    return () => void all.delete(listener);
  };
  return {
    get: () => connection,
    set(next) {
      connection = next;
      for (const listener of listeners) listener();
      if (next.kind === 'live') for (const listener of live) listener();
    },
    subscribe: add(listeners),
    onLive: add(live),
  };
}

function createFeed(status: Status): Socket {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  let wake = (): void => {};
  // A browser that comes back, or gets its network back, does not wait out the delay.
  for (const name of ['online', 'focus', 'pageshow']) window.addEventListener(name, () => wake());
  return createSocket({
    url: `${scheme}://${location.host}/graphql/ws`,
    connectionParams: () => authorization(),
    lazy: true,
    keepAlive: 20_000,
    retryAttempts: Number.POSITIVE_INFINITY,
    shouldRetry: (closed) => !(closed instanceof CloseEvent && closed.code === FORBIDDEN),
    async retryWait(retries) {
      const delay = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 1.6 ** retries) * (0.75 + Math.random() / 2);
      status.set(navigator.onLine ? { kind: 'reconnecting', retryAt: Date.now() + delay } : { kind: 'offline' });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, delay);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    on: {
      connected: () => status.set({ kind: 'live' }),
      closed(event) {
        // The token was taken back: the page begins anew, and asks for another.
        if (event instanceof CloseEvent && event.code === FORBIDDEN) return location.reload();
        status.set(navigator.onLine ? { kind: 'connecting' } : { kind: 'offline' });
      },
    },
  });
}
