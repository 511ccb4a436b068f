/** Keeps the store and the server together: follow first, then ask, and let revisions decide. */
import type { Store } from '../state/store';
import { staleBundles, visibleBundle } from '../state/views';
import type { Api } from './client';
import { BundleQuery, InboxQuery, SessionChanges, SessionQuery, TaskChanges, TaskSessionsQuery, TasksQuery, type SessionRow } from './documents';

/** Tasks of a page, entries of the inbox, messages of a transcript's page. */
const TASKS = 50;
const INBOX = 20;
export const MESSAGES = 30;
/** Events that come together lead to one read. */
const SETTLE_MS = 60;
/** After a read that failed. */
const RETRY_MS = 1_000;

/** Reads the lists now. */
export async function loadTasks(api: Api, store: Store): Promise<void> {
  const started = store.get();
  const { tasks } = await api.query(TasksQuery, { first: TASKS });
  store.apply({ kind: 'tasks', tasks: tasks.edges.map((edge) => edge.node), started });
}

export async function loadInbox(api: Api, store: Store): Promise<void> {
  const { pendingClarifications } = await api.query(InboxQuery, { first: INBOX });
  store.apply(...pendingClarifications.edges.map((edge) => ({ kind: 'bundle', bundle: edge.node }) as const));
}

export async function loadBundle(api: Api, store: Store, pendingId: string): Promise<void> {
  const { clarification } = await api.query(BundleQuery, { pendingId });
  store.apply(clarification ? { kind: 'bundle', bundle: clarification } : { kind: 'gone', id: pendingId });
}

/** The sessions of a task, from the server, for an activation. */
export async function fetchSessions(api: Api, taskId: string, signal: AbortSignal): Promise<readonly SessionRow[]> {
  const data = await api.authoritative(TaskSessionsQuery, { taskId }, signal);
  return data.taskSessions;
}

/** Whether older messages are left, and from where; null: the session is absent. */
export interface Loaded {
  readonly hasOlder: boolean;
  readonly before: string | null;
  readonly taskTitle: string | null;
}

export async function loadSession(api: Api, store: Store, id: string, before: string | null): Promise<Loaded | null> {
  const { session } = await api.query(SessionQuery, { id, last: MESSAGES, before });
  if (!session) return null;
  const messages = session.messages.edges.map(
    ({ node }) => ({ kind: 'message', sessionId: id, message: node, projection: null }) as const,
  );
  store.apply({ kind: 'session', session }, ...messages);
  const { hasPreviousPage, startCursor } = session.messages.pageInfo;
  return { hasOlder: hasPreviousPage, before: startCursor, taskTitle: session.task?.title ?? null };
}

/** One call for many, a little later. */
function together(run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, SETTLE_MS);
  };
}

/** Follows the task list and the inbox. `done` and `failed` hear of the reads. */
export function followTasks(api: Api, store: Store, failed: (error: unknown) => void, done: () => void): () => void {
  const inbox = together(() => void loadInbox(api, store).catch(failed));
  const stop = api.follow(TaskChanges, {}, ({ taskChanges: change }) => {
    if (change.__typename === 'TaskSnapshot') store.apply({ kind: 'tasks', tasks: change.tasks });
    if (change.__typename === 'TaskChanged') store.apply({ kind: 'tasks', tasks: [change.task] });
    if (change.__typename === 'TaskDeleted') store.apply({ kind: 'gone', id: change.taskId });
    inbox();
  });
  const all = together(() => {
    loadTasks(api, store).then(() => loadInbox(api, store)).then(done).catch(failed);
  });
  all();
  const idle = api.onLive(all);
  const names = ['focus', 'online', 'pageshow'];
  for (const name of names) window.addEventListener(name, all);
  return () => {
    stop();
    idle();
    for (const name of names) window.removeEventListener(name, all);
  };
}

/** Follows one session. `reload` reads its page again, after the connection was lost. */
export function followSession(api: Api, store: Store, sessionId: string, reload: () => void): () => void {
  const stop = api.follow(SessionChanges, { sessionId }, ({ sessionChanges: change }) => {
    switch (change.__typename) {
      case 'SessionSnapshot':
      case 'SessionStateChanged':
      case 'ProjectionChanged':
        return store.apply({ kind: 'session', session: change.session });
      case 'MessageAdded':
      case 'MessageUpdated':
        return store.apply({ kind: 'message', sessionId, message: change.message, projection: change.projection });
      case 'MessageDeleted':
        return store.apply({ kind: 'gone', id: change.messageId }, { kind: 'projection', sessionId, projection: change.now });
      case 'TurnStarted':
      case 'TurnCompleted':
        return store.apply({ kind: 'projection', sessionId, projection: change.now });
      case 'SessionDeleted':
        return store.apply({ kind: 'gone', id: change.sessionId });
      default:
        return undefined;
    }
  });
  const settle = settleBundles(api, store, sessionId, reload);
  const idle = api.onLive(reload);
  return () => {
    stop();
    settle();
    idle();
  };
}

/** Reads bundles again that their session has left behind, and the session when it speaks of one that is not here. */
function settleBundles(api: Api, store: Store, sessionId: string, reload: () => void): () => void {
  const asked = new Map<string, string>();
  let retry: ReturnType<typeof setTimeout> | undefined;
  const look = together(() => {
    const state = store.get();
    const revision = JSON.stringify(state.sessions.get(sessionId)?.projection?.revision);
    const visible = visibleBundle(state, sessionId);
    if (visible === undefined && asked.get(sessionId) !== revision) {
      asked.set(sessionId, revision);
      reload();
    }
    for (const id of staleBundles(state, sessionId)) {
      if (id === visible?.pendingId || asked.get(id) === revision) continue;
      asked.set(id, revision);
      loadBundle(api, store, id).catch(() => {
        asked.delete(id);
        retry = setTimeout(look, RETRY_MS);
      });
    }
  });
  look();
  const stop = store.subscribe(look);
  return () => {
    stop();
    clearTimeout(retry);
  };
}
