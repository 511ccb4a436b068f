/**
 * Which session a task opens. A task with a pending action opens the session that owns it, as the server says now;
 * nothing that arrives late may move a person who has gone elsewhere. Loader, lookup and navigator are given.
 *
 * Products that remember a session, archive tasks or prepare sessions have more branches; a person of this page can
 * do none of the three, so a clean task without a session opens its task-only route.
 */
import type { SessionRow } from '../api/documents';
import type { Snapshot } from './views';
import type { PendingAction } from './summary';

/** What an activation may do to the page. `navigate` with null is the task-only route. */
export interface Host {
  /** The task's projection now; undefined: the task is not there. */
  lookup(taskId: string): Snapshot | undefined;
  /** The session that a clean task opens: the one it had open last, else its primary one; null: none is known. */
  preferred(taskId: string): string | null;
  /** Sessions from the server, past any cache, newest first. Rejects with `AbortError` when a newer load replaced it. */
  load(taskId: string, signal: AbortSignal): Promise<readonly SessionRow[]>;
  /** Hands back what the outgoing session holds of the page; before the active session is cleared. */
  release(): void;
  navigate(taskId: string, sessionId: string | null): void;
  /** Closes the sheet in which the task was chosen; nothing on desktop. */
  close(): void;
  /** Calls back whenever another task becomes active. Returns how to stop. */
  onActiveTask(listener: (taskId: string | null) => void): () => void;
}

/** The activations of one list of tasks. Each sheet has its own, so that two never disturb each other. */
export interface Selection {
  /** Resolves when the activation is over, whatever came of it. */
  activate(taskId: string): Promise<Outcome>;
  /** Makes whatever is under way inert: the sheet was closed, or the list is gone. */
  invalidate(): void;
}

/** What came of it. `inert`: something newer had happened, and nothing was touched. */
export type Outcome = 'owner' | 'preferred' | 'task-only' | 'inert';

export function createSelection(host: Host): Selection {
  let generation = 0;
  let abort = new AbortController();
  const invalidate = (): void => {
    generation += 1;
    abort.abort();
    abort = new AbortController();
  };
  return {
    invalidate,
    activate(taskId) {
      invalidate();
      const own = generation;
      return activate(host, taskId, abort.signal, () => own === generation);
    },
  };
}

async function activate(host: Host, taskId: string, signal: AbortSignal, isCurrent: () => boolean): Promise<Outcome> {
  const before = host.lookup(taskId);
  if (!before?.action) {
    const known = host.preferred(taskId);
    if (known !== null) return open(host, taskId, known, 'preferred');
  }
  const guard = watch(host, taskId);
  try {
    const loaded = await attempt(() => host.load(taskId, signal));
    if (loaded.kind === 'aborted' || signal.aborted || guard.hasLeft() || !isCurrent()) return 'inert';
    return settle(host, taskId, before, loaded.kind === 'loaded' ? loaded.sessions : []);
  } finally {
    guard.dispose();
  }
}

/** The checks after the load, in this order. */
function settle(host: Host, taskId: string, before: Snapshot | undefined, sessions: readonly SessionRow[]): Outcome {
  const now = host.lookup(taskId);
  if (before && !now) return 'inert';
  if (!before?.action) {
    const first = sessions.find((session) => session.isPrimary) ?? sessions[0];
    return open(host, taskId, first?.id ?? null, first ? 'preferred' : 'task-only');
  }
  if (now?.action !== before.action || now.revision !== before.revision) return open(host, taskId, null, 'task-only');
  const owner = ownerOf(sessions, before.action);
  return open(host, taskId, owner, owner === null ? 'task-only' : 'owner');
}

/** The newest session that can take input and has that action; null: no guess. The server's order is kept. */
export function ownerOf(sessions: readonly SessionRow[], action: PendingAction): string | null {
  return sessions.find((session) => session.isInputCapable && session.projection?.action === action)?.id ?? null;
}

function open(host: Host, taskId: string, sessionId: string | null, outcome: Outcome): Outcome {
  if (sessionId === null) host.release();
  host.navigate(taskId, sessionId);
  host.close();
  return outcome;
}

/** Notices another task becoming active meanwhile, even if the first one returns. */
function watch(host: Host, taskId: string): { hasLeft(): boolean; dispose(): void } {
  let hasLeft = false;
  const dispose = host.onActiveTask((active) => {
    if (active !== taskId) hasLeft = true;
  });
  return { hasLeft: () => hasLeft, dispose };
}

type Loaded =
  | { readonly kind: 'loaded'; readonly sessions: readonly SessionRow[] }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'failed' };

async function attempt(load: () => Promise<readonly SessionRow[]>): Promise<Loaded> {
  try {
    return { kind: 'loaded', sessions: await load() };
  } catch (error) {
    return { kind: isAbort(error) ? 'aborted' : 'failed' };
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** Authoritative loads: of those of one key that overlap only the newest counts, and it aborts the others. */
export interface Loads<T> {
  load(key: string, signal: AbortSignal): Promise<T>;
}

export function createLoads<T>(
  fetch: (key: string, signal: AbortSignal) => Promise<T>,
  apply: (key: string, value: T) => void,
): Loads<T> {
  const latest = new Map<string, AbortController>();
  return {
    async load(key, signal) {
      latest.get(key)?.abort();
      const own = new AbortController();
      latest.set(key, own);
      const isSuperseded = (): boolean => own.signal.aborted || latest.get(key) !== own;
      try {
        const value = await fetch(key, AbortSignal.any([own.signal, signal]));
        if (isSuperseded()) throw new DOMException('a newer load replaced it', 'AbortError');
        apply(key, value);
        return value;
      } catch (error) {
        if (isSuperseded() && !isAbort(error)) throw new DOMException('a newer load replaced it', 'AbortError');
        throw error;
      } finally {
        if (latest.get(key) === own) latest.delete(key);
      }
    },
  };
}
