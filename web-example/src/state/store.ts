/**
 * What the page knows. Every item, from a query or a subscription, goes through `reduce`; any order of arrival ends
 * in the same state. No React here.
 */
import type { Bundle, MessageItem, Projection, SessionItem, SessionRow, TaskItem } from '../api/documents';
import { isNewer, mayReplace, type Revision } from './revision';
import { merged, NOTHING, readingOf, type Held } from './summary';

/** A task row: the newest reading of the task itself, and what is held of its summary, each in an order of its own. */
export interface TaskEntry {
  readonly item: TaskItem;
  readonly held: Held;
}

/** A session; `activeId` is the bundle that the server chose, as of `activeAt`. */
export interface SessionEntry {
  readonly row: SessionRow;
  readonly projection: Projection | null;
  readonly activeId: string | null;
  readonly activeAt: Revision | null;
}

export type Message = Omit<MessageItem, 'clarification'> & { readonly pendingId: string | null };

export interface State {
  readonly tasks: ReadonlyMap<string, TaskEntry>;
  readonly sessions: ReadonlyMap<string, SessionEntry>;
  /** Projections of sessions that are not loaded yet. */
  readonly ahead: ReadonlyMap<string, Projection>;
  readonly bundles: ReadonlyMap<string, Bundle>;
  /** By session, then by id. */
  readonly messages: ReadonlyMap<string, ReadonlyMap<string, Message>>;
  readonly gone: ReadonlySet<string>;
}

export const EMPTY: State = {
  tasks: new Map(),
  sessions: new Map(),
  ahead: new Map(),
  bundles: new Map(),
  messages: new Map(),
  gone: new Set(),
};

export type Item =
  /** Tasks; `started` is the state when they were asked for, absent where they came by themselves. */
  | { readonly kind: 'tasks'; readonly tasks: readonly TaskItem[]; readonly started?: State }
  | { readonly kind: 'session'; readonly session: SessionItem }
  | { readonly kind: 'sessionRows'; readonly rows: readonly SessionRow[] }
  | { readonly kind: 'projection'; readonly sessionId: string; readonly projection: Projection | null }
  | { readonly kind: 'bundle'; readonly bundle: Bundle }
  | { readonly kind: 'message'; readonly sessionId: string; readonly message: MessageItem; readonly projection: Projection | null }
  | { readonly kind: 'gone'; readonly id: string };

/** One step. What is older than what is held changes nothing. */
export function reduce(state: State, item: Item): State {
  switch (item.kind) {
    case 'tasks':
      return item.tasks.reduce((next, task) => withTask(next, task, item.started), state);
    case 'session':
      return withSession(state, item.session);
    case 'sessionRows':
      return item.rows.reduce(withRow, state);
    case 'projection':
      return withProjection(state, item.sessionId, item.projection);
    case 'bundle':
      return withBundle(state, item.bundle);
    case 'message':
      // The projection goes first, so that a question is never looked for under the one before it.
      return withMessage(withProjection(state, item.sessionId, item.projection), item.sessionId, item.message);
    case 'gone':
      return without(state, item.id);
  }
}

function withTask(state: State, task: TaskItem, started?: State): State {
  if (state.gone.has(task.id)) return state;
  const entry = state.tasks.get(task.id);
  const atStart = started && heldOf(started, task.id);
  const held = merged(heldOf(state, task.id), readingOf(task), atStart);
  const item = entry && entry.item.lastActivityAt > task.lastActivityAt ? entry.item : task;
  const next = { ...state, tasks: set(state.tasks, task.id, { item, held }) };
  return task.sessions.reduce((all, session) => withProjection(all, session.id, session.projection), next);
}

function heldOf(state: State, taskId: string): Held {
  return state.tasks.get(taskId)?.held ?? NOTHING;
}

function withRow(state: State, row: SessionRow): State {
  if (state.gone.has(row.id)) return state;
  const held = state.sessions.get(row.id);
  const isFresh = !held || row.updatedAt >= held.row.updatedAt;
  const entry: SessionEntry = {
    row: isFresh ? row : held.row,
    projection: held?.projection ?? state.ahead.get(row.id) ?? null,
    activeId: held?.activeId ?? null,
    activeAt: held?.activeAt ?? null,
  };
  const ahead = new Map(state.ahead);
  ahead.delete(row.id);
  const next = { ...state, ahead, sessions: set(state.sessions, row.id, entry) };
  return withProjection(next, row.id, row.projection);
}

function withSession(state: State, session: SessionItem): State {
  const active = session.activeClarification;
  const next = withRow(active ? withBundle(state, active) : state, session);
  const entry = next.sessions.get(session.id);
  const revision = session.projection?.revision;
  if (!entry || !revision || !mayReplace(entry.activeAt, revision)) return next;
  const chosen = { activeId: active?.pendingId ?? null, activeAt: revision };
  return { ...next, sessions: set(next.sessions, session.id, { ...entry, ...chosen }) };
}

function withProjection(state: State, sessionId: string, projection: Projection | null): State {
  if (!projection || state.gone.has(sessionId)) return state;
  const entry = state.sessions.get(sessionId);
  const held = entry ? entry.projection : state.ahead.get(sessionId);
  if (!mayReplace(held?.revision, projection.revision)) return state;
  if (!entry) return { ...state, ahead: set(state.ahead, sessionId, projection) };
  return { ...state, sessions: set(state.sessions, sessionId, { ...entry, projection }) };
}

function withBundle(state: State, bundle: Bundle): State {
  const held = state.bundles.get(bundle.pendingId);
  if (!mayReplace(held?.revision, bundle.revision)) return state;
  return { ...state, bundles: set(state.bundles, bundle.pendingId, bundle) };
}

function withMessage(state: State, sessionId: string, item: MessageItem): State {
  if (state.gone.has(item.id) || state.gone.has(sessionId)) return state;
  const { clarification, ...rest } = item;
  const next = clarification ? adopt(withBundle(state, clarification), sessionId, clarification) : state;
  const own = next.messages.get(sessionId) ?? new Map<string, Message>();
  const held = own.get(item.id);
  if (held && held.updatedAt > item.updatedAt) return next;
  const message = { ...rest, pendingId: clarification?.pendingId ?? null };
  return { ...next, messages: set(next.messages, sessionId, set(own, item.id, message)) };
}

/** A question that arrives by its own event is the active one where nothing as new says otherwise. */
function adopt(state: State, sessionId: string, bundle: Bundle): State {
  const entry = state.sessions.get(sessionId);
  if (!entry || !isOpen(bundle) || !isNewer(bundle.revision, entry.activeAt)) return state;
  const held = entry.activeId === null ? undefined : state.bundles.get(entry.activeId);
  // Of two that are open in one turn the server shows the older one.
  const stays = held && held.turn?.id === bundle.turn?.id && isOpen(held) && held.createdAt < bundle.createdAt;
  if (stays) return state;
  const chosen = { activeId: bundle.pendingId, activeAt: bundle.revision };
  return { ...state, sessions: set(state.sessions, sessionId, { ...entry, ...chosen }) };
}

/** Somebody can answer it. */
export function isOpen(bundle: Pick<Bundle, 'state'>): boolean {
  return bundle.state === 'ACTIVE_LIVE' || bundle.state === 'ACTIVE_DETACHED';
}

function without(state: State, id: string): State {
  const messages = new Map(state.messages);
  messages.delete(id);
  for (const [session, own] of messages) {
    if (own.has(id)) messages.set(session, drop(own, id));
  }
  return {
    ...state,
    tasks: drop(state.tasks, id),
    sessions: drop(state.sessions, id),
    ahead: drop(state.ahead, id),
    bundles: drop(state.bundles, id),
    messages,
    gone: new Set(state.gone).add(id),
  };
}

function set<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> {
  return new Map(map).set(key, value);
}

function drop<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  if (!map.has(key)) return map;
  const next = new Map(map);
  next.delete(key);
  return next;
}

/** A store for `useSyncExternalStore`: one notification for each batch. */
export interface Store {
  get(): State;
  subscribe(listener: () => void): () => void;
  apply(...items: readonly Item[]): void;
}

export function createStore(): Store {
  let state = EMPTY;
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    apply(...items) {
      const next = items.reduce(reduce, state);
      if (next === state) return;
      state = next;
      for (const listener of listeners) listener();
    },
  };
}
