/** What is derived from the store: nothing here is stored. */
import type { Bundle, Projection, TaskItem } from '../api/documents';
import { compare, isNewer } from './revision';
import { isOpen, type Message, type SessionEntry, type State, type TaskEntry } from './store';
import type { PendingAction } from './summary';

/** The row's action: the summary's, also where that says none; without a summary the coarse one. */
export function actionOf({ item, held }: TaskEntry): PendingAction | null {
  return held.summary ? held.summary.pendingAction : item.pendingAction;
}

/** What a task activation remembers of its task, and compares after its load. */
export interface Snapshot {
  readonly action: PendingAction | null;
  /** The summary's; null: none is held. */
  readonly revision: string | null;
}

export function snapshotOf(task: TaskEntry): Snapshot {
  return { action: actionOf(task), revision: task.held.summary?.revision ?? null };
}

/** What a row says; the first that holds, and never by colour alone. */
export type RowStatus = 'permission' | 'clarification' | 'failed' | 'generating' | 'background' | 'starting' | 'done' | 'clean';

export function statusOf(task: TaskEntry): RowStatus {
  const action = actionOf(task);
  if (action === 'PERMISSION') return 'permission';
  if (action === 'CLARIFICATION') return 'clarification';
  return reported(task) ?? stateOf(task.item.sessions);
}

/** What the runtime said of the agent's work. */
function reported({ held: { summary } }: TaskEntry): RowStatus | null {
  if (summary?.activeError) return 'failed';
  if (summary?.foregroundActivity === 'GENERATING') return 'generating';
  return summary?.foregroundActivity === 'BACKGROUND' ? 'background' : null;
}

function stateOf(sessions: TaskItem['sessions']): RowStatus {
  const has = (state: string): boolean => sessions.some((session) => session.state === state);
  if (has('RUNNING')) return 'generating';
  if (has('STARTING')) return 'starting';
  const first = sessions.find((session) => session.isPrimary) ?? sessions[0];
  if (first?.state === 'FAILED') return 'failed';
  return first?.state === 'COMPLETED' ? 'done' : 'clean';
}

/** What a row adds to its status: what went wrong, or how many helpers are at work. */
export function detailOf(task: TaskEntry): { readonly error: string | null; readonly helpers: number } {
  const status = statusOf(task);
  const isAtWork = status === 'generating' || status === 'background';
  const { summary } = task.held;
  return {
    error: status === 'failed' ? (summary?.activeError?.preview ?? null) : null,
    helpers: isAtWork ? (summary?.activeSubagentCount ?? 0) : 0,
  };
}

/** Tasks, newest activity first. */
export function taskList(state: State): readonly TaskEntry[] {
  return [...state.tasks.values()].toSorted((a, b) =>
    a.item.lastActivityAt === b.item.lastActivityAt
      ? b.item.id.localeCompare(a.item.id)
      : b.item.lastActivityAt.localeCompare(a.item.lastActivityAt),
  );
}

export function needyCount(state: State): number {
  return [...state.tasks.values()].filter((task) => actionOf(task) !== null).length;
}

/** A session's pending action, where its state lets it have one. */
export function sessionAction(entry: { readonly row: { readonly isInputCapable: boolean }; readonly projection: Projection | null }): PendingAction | null {
  return entry.row.isInputCapable ? (entry.projection?.action ?? null) : null;
}

/**
 * The bundle that a session's chat shows: the server's choice, unless the projection is newer than that choice and
 * does not speak of a question. `undefined`: the projection speaks of one that has not arrived.
 */
export function visibleBundle(state: State, sessionId: string): Bundle | null | undefined {
  const entry = state.sessions.get(sessionId);
  if (!entry || entry.projection?.action !== 'CLARIFICATION') return null;
  const bundle = entry.activeId === null ? undefined : state.bundles.get(entry.activeId);
  if (bundle && isOpen(bundle)) return bundle;
  return entry.activeAt && compare(entry.activeAt, entry.projection.revision) !== -1 ? null : undefined;
}

/** A bundle whose response is being delivered by somebody, newest first. */
export function claimedBundle(state: State, sessionId: string): Bundle | null {
  const claimed = [...state.bundles.values()].filter(
    (bundle) => bundle.session?.id === sessionId && bundle.state === 'DELIVERY_CLAIMED',
  );
  return claimed.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))[0] ?? null;
}

/** Bundles that were open when last read, and may not be any more. */
export function staleBundles(state: State, sessionId: string): readonly string[] {
  const entry = state.sessions.get(sessionId);
  const revision = entry?.projection?.revision;
  if (!entry || !revision) return [];
  const isUnsettled = (bundle: Bundle): boolean => isOpen(bundle) || bundle.state === 'DELIVERY_CLAIMED';
  return [...state.bundles.values()]
    .filter((bundle) => bundle.session?.id === sessionId && isUnsettled(bundle) && isNewer(revision, bundle.revision))
    .map((bundle) => bundle.pendingId);
}

/** Open bundles of all sessions, oldest first; one that its session has left behind is not among them. */
export function inbox(state: State): readonly Bundle[] {
  return [...state.bundles.values()]
    .filter((bundle) => isOpen(bundle) && !isLeft(state, bundle))
    .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
}

function isLeft(state: State, bundle: Bundle): boolean {
  const { session } = bundle;
  if (!session || state.gone.has(session.id) || state.gone.has(session.taskId)) return true;
  const projection = state.sessions.get(session.id)?.projection ?? state.ahead.get(session.id);
  return !!projection && projection.action !== 'CLARIFICATION' && isNewer(projection.revision, bundle.revision);
}

/** One entry of a transcript: a message, or a bundle in the place of its first question. */
export type Entry =
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'bundle'; readonly bundle: Bundle };

/** A session's transcript, oldest first, without the bundle that is shown above the composer. */
export function transcript(state: State, sessionId: string, shownId: string | null): readonly Entry[] {
  const own = [...(state.messages.get(sessionId)?.values() ?? [])].toSorted(
    (a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id),
  );
  const seen = new Set<string>(shownId === null ? [] : [shownId]);
  return own.flatMap((message): readonly Entry[] => {
    const bundle = message.pendingId === null ? undefined : state.bundles.get(message.pendingId);
    if (!bundle) return [{ kind: 'message', message }];
    if (seen.has(bundle.pendingId)) return [];
    seen.add(bundle.pendingId);
    return [{ kind: 'bundle', bundle }];
  });
}

/** Tasks in which an agent asks for a permission, in the list's order. */
export function permissions(state: State): readonly TaskEntry[] {
  return taskList(state).filter((task) => actionOf(task) === 'PERMISSION');
}

export function sessionsOf(state: State, taskId: string): readonly SessionEntry[] {
  return [...state.sessions.values()]
    .filter((entry) => entry.row.taskId === taskId)
    .toSorted((a, b) => b.row.startedAt.localeCompare(a.row.startedAt) || b.row.id.localeCompare(a.row.id));
}
