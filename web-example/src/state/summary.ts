/**
 * What a task row knows of its task's stored summary, and when another reading may replace that. The record has a
 * revision, and nothing but that orders two of them: no clock, no order of arrival.
 */
import type { TaskItem } from '../api/documents';

export type PendingAction = 'CLARIFICATION' | 'PERMISSION';
export type Summary = NonNullable<TaskItem['statusSummary']>;

/** What is held of a task's summary. */
export interface Held {
  /** Null: none that holds, so the task's coarse action is all there is. */
  readonly summary: Summary | null;
  /** The newest revision that was seen; nothing older is taken, also when the record itself was dropped. */
  readonly seen: bigint;
}

/** How an answer of the server speaks of a summary. Left out is not null: the one keeps, the other empties. */
export type Reading =
  | { readonly kind: 'present'; readonly summary: Summary; readonly revision: bigint }
  /** Not part of this answer: keep what is held. */
  | { readonly kind: 'omitted' }
  /** The server could not tell: what is held may be wrong. */
  | { readonly kind: 'invalidated' };

export const NOTHING: Held = { summary: null, seen: 0n };

const DECIMAL = /^\d+$/;

/** What cannot be ordered is not taken, as if it had been left out. */
export function readingOf({ statusSummary: summary, statusSummaryState: state }: TaskItem): Reading {
  if (state === 'INVALIDATED') return { kind: 'invalidated' };
  if (state !== 'PRESENT' || !summary || !DECIMAL.test(summary.revision)) return { kind: 'omitted' };
  return { kind: 'present', summary, revision: BigInt(summary.revision) };
}

/** What is held after a reading; `atStart` is what was held when it was asked for (absent: it came by itself). */
export function merged(held: Held, reading: Reading, atStart: Held = held): Held {
  switch (reading.kind) {
    case 'omitted':
      return held;
    case 'present':
      return isBehind(held, reading.revision, atStart) ? held : { summary: reading.summary, seen: reading.revision };
    case 'invalidated':
      // What came while that was under way is newer than what the server could not tell.
      return held.seen > atStart.seen ? held : { ...held, summary: null };
  }
}

/** An older record; or the one that was dropped, as somebody read it who asked before that. */
function isBehind(held: Held, revision: bigint, atStart: Held): boolean {
  return revision < held.seen || (revision === held.seen && held.summary === null && atStart.summary !== null);
}
