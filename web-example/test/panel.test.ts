import { describe, expect, test } from 'vitest';
import { next, OPENED, type Event, type Panel, type Reply } from '../src/state/panel';

const run = (events: readonly Event[], from: Panel = OPENED): Panel => events.reduce(next, from);
const reply = (one: Reply): Panel => run([{ kind: 'submit' }, { kind: 'reply', reply: one }]);
const stands = (state: 'ACTIVE_LIVE' | 'ACTIVE_DETACHED' | 'DELIVERY_CLAIMED' | 'TERMINAL' | 'SUPERSEDED_HISTORY', outcome: 'PENDING' | 'ANSWERED' | 'REJECTED' | 'CANCELLED' | 'EXPIRED' | 'SUPERSEDED' = 'PENDING'): Event => ({ kind: 'bundle', state, outcome });

describe('a panel', () => {
  test.each([
    ['accepted', { kind: 'accepted', isSkip: false }, 'closed', 'delivered', null],
    ['accepted skip', { kind: 'accepted', isSkip: true }, 'closed', 'skipped', null],
    ['decided elsewhere', { kind: 'conflict', reason: 'TERMINAL' }, 'closed', 'elsewhere', null],
    ['superseded', { kind: 'conflict', reason: 'SUPERSEDED' }, 'closed', 'superseded', null],
    ['another turn asks', { kind: 'conflict', reason: 'EXPECTED_TURN_CHANGED' }, 'closed', 'superseded', null],
    ['session over', { kind: 'conflict', reason: 'SESSION_ENDED' }, 'closed', 'ended', null],
    ['claimed by another', { kind: 'conflict', reason: 'DELIVERY_CLAIMED' }, 'claimed', null, null],
    ['not taken', { kind: 'failed', isRetryable: true, code: 'NOT_TAKEN' }, 'retryable', null, 'not-taken'],
    ['unreachable', { kind: 'failed', isRetryable: true, code: 'AGENT_UNREACHABLE' }, 'retryable', null, 'unreachable'],
    ['rejected', { kind: 'failed', isRetryable: true, code: 'REJECTED' }, 'retryable', null, 'rejected'],
    ['not written', { kind: 'failed', isRetryable: true, code: 'PERSISTENCE' }, 'retryable', null, 'not-written'],
    ['unknown', { kind: 'failed', isRetryable: false, code: 'UNKNOWN' }, 'closed', 'unknown', null],
    ['not announced', { kind: 'failed', isRetryable: false, code: 'PUBLICATION_FAILED' }, 'closed', 'announced-later', null],
    ['gone', { kind: 'missing' }, 'closed', 'missing', null],
    ['refused', { kind: 'refused' }, 'retryable', null, 'refused'],
    ['no reply', { kind: 'lost' }, 'retryable', null, 'no-reply'],
  ] as const)('that sent and hears "%s"', (_name, one, phase, outcome, failure) => {
    expect(reply(one)).toMatchObject({ phase, outcome, failure });
  });

  test('whose input was wrong goes to the first wrong question', () => {
    expect(reply({ kind: 'invalid', errors: new Map([[2, 'b'], [1, 'a']]) })).toMatchObject({ phase: 'open', step: 1, isReview: false, isStepOwn: true });
    expect(run([{ kind: 'edit' }], reply({ kind: 'invalid', errors: new Map([[1, 'a']]) })).invalid.size).toBe(0);
  });

  test.each([
    ['TERMINAL', 'ANSWERED', 'elsewhere'], ['TERMINAL', 'REJECTED', 'elsewhere'], ['TERMINAL', 'CANCELLED', 'withdrawn'], ['TERMINAL', 'EXPIRED', 'ended'],
    ['SUPERSEDED_HISTORY', 'SUPERSEDED', 'superseded'], ['SUPERSEDED_HISTORY', 'PENDING', 'superseded'],
  ] as const)('whose bundle became %s, %s, says so', (state, outcome, told) => {
    for (const before of [OPENED, run([{ kind: 'collapse' }]), reply({ kind: 'lost' }), run([stands('DELIVERY_CLAIMED')])]) {
      expect(run([stands(state, outcome)], before)).toMatchObject({ phase: 'closed', outcome: told });
    }
  });

  test('waits for the reply to its own response before it tells anything', () => {
    expect(run([{ kind: 'submit' }, stands('DELIVERY_CLAIMED'), stands('TERMINAL', 'ANSWERED')]).phase).toBe('submitting');
  });

  test('is read-only while another response is delivered, and open again when that is given back', () => {
    const claimed = run([{ kind: 'step', to: 1, isOwn: true }, stands('DELIVERY_CLAIMED')]);
    expect(run([{ kind: 'submit' }, { kind: 'ask-skip' }, { kind: 'step', to: 0, isOwn: true }], claimed)).toEqual(claimed);
    expect(run([stands('ACTIVE_DETACHED')], claimed)).toMatchObject({ phase: 'open', step: 1 });
  });

  test('stays as it is when its agent goes', () => {
    const before = run([{ kind: 'step', to: 1, isOwn: false }]);
    expect(run([stands('ACTIVE_DETACHED')], before)).toEqual(before);
  });

  test('sends once: a second submit while one is under way changes nothing, and neither does a late reply', () => {
    const sending = run([{ kind: 'submit' }]);
    expect(run([{ kind: 'submit' }], sending)).toBe(sending);
    const open = run([{ kind: 'reply', reply: { kind: 'accepted', isSkip: false } }]);
    expect(open).toBe(OPENED);
  });

  test('collapses also while it sends, keeps its step, and forgets a skip that was not confirmed', () => {
    expect(run([{ kind: 'submit' }, { kind: 'collapse' }])).toMatchObject({ phase: 'submitting', isCollapsed: true });
    expect(run([{ kind: 'step', to: 2, isOwn: true }, { kind: 'ask-skip' }, { kind: 'collapse' }, { kind: 'expand' }])).toMatchObject({ step: 2, isCollapsed: false, isSkipAsked: false });
  });

  test('keeps its failure in sight while the person goes back to change an answer', () => {
    expect(run([{ kind: 'step', to: 0, isOwn: true }], reply({ kind: 'lost' }))).toMatchObject({ phase: 'retryable', failure: 'no-reply', isReview: false });
  });
});
