/** The life of one clarification panel, from the question's arrival to what became of the answer. One per bundle. */
import type { Bundle } from '../api/documents';

/** `claimed`: somebody's response is being delivered. `closed`: over; `outcome` says how. */
export type Phase = 'open' | 'submitting' | 'retryable' | 'claimed' | 'closed';

/** What is told when a panel closes. */
export type Outcome =
  | 'delivered'
  | 'skipped'
  | 'elsewhere'
  | 'superseded'
  | 'ended'
  | 'withdrawn'
  | 'unknown'
  | 'announced-later'
  | 'missing';

/** Why a response did not go through, and can be sent again. */
export type Failure = 'not-taken' | 'unreachable' | 'rejected' | 'not-written' | 'no-reply' | 'refused' | 'invalid';

export interface Panel {
  readonly phase: Phase;
  readonly isCollapsed: boolean;
  /** Which question is shown, from 0. */
  readonly step: number;
  /** All answers are listed instead of one question. */
  readonly isReview: boolean;
  /** The step was taken by the person, so focus may follow it. */
  readonly isStepOwn: boolean;
  readonly isSkipAsked: boolean;
  readonly failure: Failure | null;
  /** Errors of the server by question's place. */
  readonly invalid: ReadonlyMap<number, string>;
  readonly outcome: Outcome | null;
}

export const OPENED: Panel = {
  phase: 'open',
  isCollapsed: false,
  step: 0,
  isReview: false,
  isStepOwn: false,
  isSkipAsked: false,
  failure: null,
  invalid: new Map(),
  outcome: null,
};

/** What came back for a response; `lost`: nothing did. */
export type Reply =
  | { readonly kind: 'accepted'; readonly isSkip: boolean }
  | { readonly kind: 'conflict'; readonly reason: 'SUPERSEDED' | 'TERMINAL' | 'DELIVERY_CLAIMED' | 'SESSION_ENDED' | 'EXPECTED_TURN_CHANGED' }
  | { readonly kind: 'failed'; readonly isRetryable: boolean; readonly code: string }
  | { readonly kind: 'invalid'; readonly errors: ReadonlyMap<number, string> }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'lost' };

export type Event =
  | { readonly kind: 'bundle'; readonly state: Bundle['state']; readonly outcome: Bundle['outcome'] }
  | { readonly kind: 'collapse' }
  | { readonly kind: 'expand' }
  | { readonly kind: 'step'; readonly to: number; readonly isOwn: boolean }
  | { readonly kind: 'review' }
  | { readonly kind: 'edit' }
  | { readonly kind: 'ask-skip' }
  | { readonly kind: 'keep' }
  | { readonly kind: 'submit' }
  | { readonly kind: 'reply'; readonly reply: Reply };

/** One step. A closed panel stays closed, but for a bundle that was given back. */
export function next(panel: Panel, event: Event): Panel {
  switch (event.kind) {
    case 'bundle':
      return withBundle(panel, event.state, event.outcome);
    case 'collapse':
      return { ...panel, isCollapsed: true, isSkipAsked: false };
    case 'expand':
      return { ...panel, isCollapsed: false, isStepOwn: true };
    case 'reply':
      return panel.phase === 'submitting' ? withReply(panel, event.reply) : panel;
    default:
      return isEditable(panel) ? withPerson(panel, event) : panel;
  }
}

export function isEditable(panel: Panel): boolean {
  return panel.phase === 'open' || panel.phase === 'retryable';
}

type Own = Exclude<Event, { readonly kind: 'bundle' | 'collapse' | 'expand' | 'reply' }>;

function withPerson(panel: Panel, event: Own): Panel {
  switch (event.kind) {
    case 'step':
      return { ...panel, isReview: false, step: event.to, isStepOwn: event.isOwn, isSkipAsked: false };
    case 'review':
      return { ...panel, isReview: true, isStepOwn: true, isSkipAsked: false };
    case 'edit':
      if (panel.invalid.size === 0) return panel;
      return { ...panel, phase: 'open', failure: null, invalid: new Map() };
    case 'ask-skip':
      return { ...panel, isSkipAsked: true };
    case 'keep':
      return { ...panel, isSkipAsked: false };
    case 'submit':
      return { ...panel, phase: 'submitting', failure: null, invalid: new Map(), isSkipAsked: false };
  }
}

function withBundle(panel: Panel, state: Bundle['state'], outcome: Bundle['outcome']): Panel {
  // My own response is under way: its reply says what became of it.
  if (panel.phase === 'submitting' || panel.phase === 'closed') return panel;
  if (state === 'DELIVERY_CLAIMED') return { ...panel, phase: 'claimed', failure: null, isSkipAsked: false };
  if (state === 'SUPERSEDED_HISTORY' || state === 'TERMINAL') return closed(panel, overOf(state, outcome));
  return panel.phase === 'claimed' ? { ...panel, phase: 'open' } : panel;
}

function overOf(state: Bundle['state'], outcome: Bundle['outcome']): Outcome {
  if (state === 'SUPERSEDED_HISTORY' || outcome === 'SUPERSEDED') return 'superseded';
  if (outcome === 'CANCELLED') return 'withdrawn';
  return outcome === 'EXPIRED' ? 'ended' : 'elsewhere';
}

function withReply(panel: Panel, reply: Reply): Panel {
  switch (reply.kind) {
    case 'accepted':
      return closed(panel, reply.isSkip ? 'skipped' : 'delivered');
    case 'conflict':
      return withConflict(panel, reply.reason);
    case 'failed':
      if (reply.isRetryable) return retryable(panel, failureOf(reply.code));
      return closed(panel, reply.code === 'PUBLICATION_FAILED' ? 'announced-later' : 'unknown');
    case 'invalid': {
      const [first] = [...reply.errors.keys()].toSorted((a, b) => a - b);
      const step = first ?? panel.step;
      return { ...retryable(panel, 'invalid'), phase: 'open', invalid: reply.errors, step, isReview: false, isStepOwn: true };
    }
    case 'missing':
      return closed(panel, 'missing');
    case 'refused':
      return retryable(panel, 'refused');
    case 'lost':
      return retryable(panel, 'no-reply');
  }
}

function withConflict(panel: Panel, reason: (Reply & { kind: 'conflict' })['reason']): Panel {
  switch (reason) {
    case 'DELIVERY_CLAIMED':
      return { ...panel, phase: 'claimed' };
    case 'TERMINAL':
      return closed(panel, 'elsewhere');
    case 'SESSION_ENDED':
      return closed(panel, 'ended');
    case 'SUPERSEDED':
    case 'EXPECTED_TURN_CHANGED':
      return closed(panel, 'superseded');
  }
}

function failureOf(code: string): Failure {
  switch (code) {
    case 'NOT_TAKEN':
      return 'not-taken';
    case 'AGENT_UNREACHABLE':
      return 'unreachable';
    case 'REJECTED':
      return 'rejected';
    default:
      return 'not-written';
  }
}

function retryable(panel: Panel, failure: Failure): Panel {
  return { ...panel, phase: 'retryable', failure, isCollapsed: false };
}

function closed(panel: Panel, outcome: Outcome): Panel {
  return { ...panel, phase: 'closed', outcome, failure: null, isSkipAsked: false };
}
