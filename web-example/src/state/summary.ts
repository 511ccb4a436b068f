/**
 * What a task row knows of the action that waits in it, and when another reading may replace that.
 *
 * The schema has no count of a task's own. A task is ordered by its last activity, which only moves forwards, and
 * where that is equal, by the revisions of the sessions that both readings name: one that has any of them lower is
 * the older one. So a late list loses against a live change, and a deleted session takes no authority with it.
 */
import type { TaskItem } from '../api/documents';
import { compare, type Revision } from './revision';

export type PendingAction = 'CLARIFICATION' | 'PERMISSION';

/** One reading of a task's pending action, with what orders it. */
export interface Summary {
  readonly action: PendingAction | null;
  /** RFC 3339 with a fixed width, so that text order is time order. */
  readonly at: string;
  readonly revisions: ReadonlyMap<string, Revision>;
}

/** How an answer of the server speaks of a summary. */
export type Reading =
  | { readonly kind: 'present'; readonly summary: Summary }
  /** Not part of this answer: keep what is held. */
  | { readonly kind: 'omitted' }
  /** The server could not tell: what is held may be wrong, and the coarse action is all there is. */
  | { readonly kind: 'invalidated' };

export function summaryOf(task: TaskItem): Summary {
  const known = task.sessions.flatMap((session) =>
    session.projection ? [[session.id, session.projection.revision] as const] : [],
  );
  return { action: task.pendingAction, at: task.lastActivityAt, revisions: new Map(known) };
}

/** Whether `a` was read before `b`. */
export function isOlder(a: Summary, b: Summary): boolean {
  if (a.at !== b.at) return a.at < b.at;
  for (const [id, revision] of a.revisions) {
    const other = b.revisions.get(id);
    if (other && compare(revision, other) === -1) return true;
  }
  return false;
}

/** The summary after a reading; `atStart` is what was held when its request began (absent: a live change). */
export function merged(held: Summary | null, reading: Reading, atStart?: Summary | null): Summary | null {
  switch (reading.kind) {
    case 'omitted':
      return held;
    case 'present':
      return held && isOlder(reading.summary, held) ? held : reading.summary;
    case 'invalidated':
      // What came live while that request was under way is newer than what the server could not tell.
      return held && atStart !== undefined && (atStart === null || isOlder(atStart, held)) ? held : null;
  }
}

/** Text that is equal for two readings if and only if nothing that could move the pending action lies between. */
export function fingerprint(summary: Summary | null): string {
  if (!summary) return '';
  const parts = [...summary.revisions].map(([id, { epoch, sequence }]) => `${id}:${epoch}:${sequence}`);
  return `${summary.action ?? ''}|${parts.toSorted().join(',')}`;
}
