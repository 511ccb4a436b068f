import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EMPTY, reduce, type Item, type State } from '../src/state/store';
import { actionOf, inbox, snapshotOf, staleBundles, statusOf, transcript, visibleBundle } from '../src/state/views';
import { bundle, message, question, revision, row, session, task } from './items';

const fold = (items: readonly Item[], from: State = EMPTY): State => items.reduce(reduce, from);
const projection = (epoch: number, sequence: number, action: 'CLARIFICATION' | 'PERMISSION' | null): Item => ({ kind: 'projection', sessionId: 's1', projection: { action, revision: revision(epoch, sequence) } });
const action = (state: State) => state.sessions.get('s1')?.projection?.action;

function permutations<T>(items: readonly T[]): T[][] {
  return items.length <= 1 ? [[...items]] : items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

describe('a session\'s projection', () => {
  test.each([
    ['event newer, list late', [[7, 2, 'CLARIFICATION'], [7, 1, null]], 'CLARIFICATION'],
    ['list newer, event late', [[7, 1, null], [7, 2, 'CLARIFICATION']], 'CLARIFICATION'],
    ['restart', [[9, 99, 'CLARIFICATION'], [10, 1, null]], null],
    ['old generation after a restart', [[10, 1, null], [9, 100, 'PERMISSION']], null],
    ['an unseen old generation at a page that began anew', [[3, 1, null], [1, 99, 'CLARIFICATION']], null],
  ] as const)('%s', (_name, steps, expected) => {
    const items = steps.map(([epoch, sequence, what]) => projection(epoch, sequence, what));
    expect(action(fold([{ kind: 'session', session: session(0, null, { projection: null }) }, ...items]))).toBe(expected);
  });

  test('is the same after all orders of four revisions', () => {
    const items = [projection(7, 2, 'CLARIFICATION'), projection(7, 3, null), projection(8, 1, 'PERMISSION'), projection(6, 99, null)];
    for (const order of permutations([{ kind: 'sessionRows', rows: [row('s1')] } as Item, ...items])) expect(action(fold(order))).toBe('PERMISSION');
  });

  test('of a session that is not loaded waits for it', () => {
    const state = fold([projection(2, 5, 'CLARIFICATION')]);
    expect(state.sessions.size).toBe(0);
    expect(action(reduce(state, { kind: 'sessionRows', rows: [row('s1')] }))).toBe('CLARIFICATION');
  });

  test('of an older list is refused while its other fields are taken', () => {
    const state = fold([
      { kind: 'sessionRows', rows: [row('s1')] }, projection(7, 2, 'CLARIFICATION'),
      { kind: 'sessionRows', rows: [row('s1', { state: 'COMPLETED', updatedAt: '2026-12-01T10:00:00.000000Z', projection: { action: null, revision: revision(7, 1) } })] },
    ]);
    expect(state.sessions.get('s1')?.row.state).toBe('COMPLETED');
    expect(action(state)).toBe('CLARIFICATION');
  });

  test('any mix of lists and events ends at the greatest revision', () => {
    const step = fc.record({ epoch: fc.nat(3), sequence: fc.nat(9), isList: fc.boolean() });
    fc.assert(fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const actions = ['CLARIFICATION', 'PERMISSION', null] as const;
      const items = steps.map(({ epoch, sequence, isList }): Item => {
        // Equal revisions are equal readings.
        const one = { action: actions[(epoch * 7 + sequence) % 3] ?? null, revision: revision(epoch, sequence) };
        return isList ? { kind: 'sessionRows', rows: [row('s1', { projection: one })] } : { kind: 'projection', sessionId: 's1', projection: one };
      });
      const ends = [items, items.toReversed()].map((order) => fold([...order, { kind: 'sessionRows', rows: [row('s1', { projection: null })] }]).sessions.get('s1')?.projection);
      expect(ends[0]).toEqual(ends[1]);
      const most = steps.toSorted((a, b) => a.epoch - b.epoch || a.sequence - b.sequence).at(-1)!;
      expect(ends[0]?.revision).toEqual(revision(most.epoch, most.sequence));
    }));
  });
});

describe('the visible bundle', () => {
  const asked = bundle('p1', 5);

  test('is the server\'s choice', () => {
    expect(visibleBundle(fold([{ kind: 'session', session: session(5, asked) }]), 's1')?.pendingId).toBe('p1');
  });

  test('is none where a newer projection is clean or wants a permission, whatever the rows say', () => {
    for (const what of [null, 'PERMISSION'] as const) {
      const state = fold([{ kind: 'session', session: session(5, asked) }, projection(1, 6, what)]);
      expect(visibleBundle(state, 's1')).toBeNull();
      expect(staleBundles(state, 's1')).toEqual(['p1']);
    }
  });

  test('comes with the event of its own message, which also advances the projection', () => {
    const state = fold([
      { kind: 'session', session: session(4, null) },
      { kind: 'message', sessionId: 's1', message: message('m1', 1, { clarification: asked }), projection: { action: 'CLARIFICATION', revision: revision(1, 5) } },
    ]);
    expect(visibleBundle(state, 's1')?.pendingId).toBe('p1');
  });

  test('is not there yet where only the projection speaks of it', () => {
    expect(visibleBundle(fold([{ kind: 'session', session: session(4, null) }, projection(1, 5, 'CLARIFICATION')]), 's1')).toBeUndefined();
  });

  test('comes back after a failed delivery with a newer revision only', () => {
    const claimed = bundle('p1', 6, { state: 'DELIVERY_CLAIMED', questions: [question('q1', { status: 'ANSWERED' })] });
    const state = fold([{ kind: 'session', session: session(5, asked) }, { kind: 'bundle', bundle: claimed }, projection(1, 6, null)]);
    expect(visibleBundle(state, 's1')).toBeNull();
    expect(visibleBundle(reduce(state, { kind: 'session', session: session(5, asked) }), 's1')).toBeNull();
    const back = reduce(state, { kind: 'session', session: session(7, bundle('p1', 7)) });
    expect(visibleBundle(back, 's1')?.questions[0]?.status).toBe('PENDING');
  });

  test('of two that are open in one turn is the older one', () => {
    const later = bundle('p2', 6, { createdAt: '2026-12-01T09:30:00.000000Z' });
    const state = fold([
      { kind: 'session', session: session(5, asked) },
      { kind: 'message', sessionId: 's1', message: message('m2', 1, { clarification: later }), projection: { action: 'CLARIFICATION', revision: revision(1, 6) } },
    ]);
    expect(visibleBundle(state, 's1')?.pendingId).toBe('p1');
  });

  test('of a newer turn replaces the older turn\'s', () => {
    const later = bundle('p2', 6, { createdAt: '2026-12-01T09:30:00.000000Z', turn: { id: 't2' } });
    const state = fold([
      { kind: 'session', session: session(5, asked) },
      { kind: 'message', sessionId: 's1', message: message('m2', 1, { clarification: later }), projection: { action: 'CLARIFICATION', revision: revision(1, 6) } },
    ]);
    expect(visibleBundle(state, 's1')?.pendingId).toBe('p2');
  });

  test('every order of the same readings shows the same', () => {
    const closed = bundle('p1', 7, { state: 'TERMINAL', outcome: 'ANSWERED' });
    const items: Item[] = [
      { kind: 'session', session: session(4, null) }, { kind: 'session', session: session(5, asked) },
      { kind: 'session', session: session(7, null) }, { kind: 'bundle', bundle: closed },
    ];
    for (const order of permutations(items)) {
      const state = fold(order);
      expect(visibleBundle(state, 's1')).toBeNull();
      expect(state.bundles.get('p1')?.outcome).toBe('ANSWERED');
    }
  });
});

describe('a message', () => {
  test('is the newest of its versions, and gone is gone', () => {
    const items: Item[] = [1, 3, 2].map((at) => ({ kind: 'message', sessionId: 's1', message: message('m1', at), projection: null }));
    for (const order of permutations(items)) expect(fold(order).messages.get('s1')?.get('m1')?.content).toBe('m1 at 3');
    const state = fold([...items, { kind: 'gone', id: 'm1' }, ...items]);
    expect(state.messages.get('s1')?.has('m1')).toBe(false);
  });

  test('of a bundle stands once in the transcript, in the place of its first question, and not where the panel shows it', () => {
    const own = bundle('p1', 5, { questions: [question('q1'), question('q2')] });
    const items: Item[] = ['m1', 'm2', 'm3'].map((id, at) => ({ kind: 'message', sessionId: 's1', message: message(id, at, at < 2 ? { clarification: own } : {}), projection: null }));
    expect(transcript(fold(items), 's1', null).map((entry) => entry.kind)).toEqual(['bundle', 'message']);
    expect(transcript(fold(items), 's1', 'p1').map((entry) => entry.kind)).toEqual(['message']);
  });
});

describe('a task row', () => {
  const tasks = (items: Parameters<typeof task>[], extra: Partial<Extract<Item, { kind: 'tasks' }>> = {}): Item => ({ kind: 'tasks', tasks: items.map((one) => task(...one)), ...extra });
  const shown = (state: State) => actionOf(state.tasks.get('k1')!);

  test('keeps the newer of list and event, in both orders', () => {
    const [older, newer] = [tasks([['k1', 1, null, [['s1', 1, 4]]]]), tasks([['k1', 2, 'CLARIFICATION', [['s1', 1, 5]]]])];
    expect(shown(fold([older, newer]))).toBe('CLARIFICATION');
    expect(shown(fold([newer, older]))).toBe('CLARIFICATION');
  });

  test('is ordered by its sessions\' revisions where the clock stood still', () => {
    const [older, newer] = [tasks([['k1', 1, 'CLARIFICATION', [['s1', 9, 9]]]]), tasks([['k1', 1, null, [['s1', 10, 1]]]])];
    expect(shown(fold([older, newer]))).toBeNull();
    expect(shown(fold([newer, older]))).toBeNull();
  });

  test('a deleted session takes no authority with it', () => {
    expect(shown(fold([tasks([['k1', 1, 'CLARIFICATION', [['s1', 1, 50], ['s2', 1, 3]]]]), tasks([['k1', 1, null, [['s2', 1, 3]]]])]))).toBeNull();
  });

  test('whose action could not be read shows the coarse one', () => {
    const state = fold([tasks([['k1', 1, 'CLARIFICATION']])]);
    const invalid: Item = { kind: 'tasks', tasks: [task('k1', 1, null, [], { primarySessionPendingAction: 'PERMISSION' })], started: state, unknown: new Set(['k1']) };
    expect(shown(reduce(state, invalid))).toBe('PERMISSION');
    expect(reduce(state, invalid).tasks.get('k1')?.summary).toBeNull();
  });

  test('that could not be read does not erase what came live meanwhile', () => {
    const started = fold([tasks([['k1', 1, null, [['s1', 1, 1]]]])]);
    const live = reduce(started, tasks([['k1', 2, 'CLARIFICATION', [['s1', 1, 2]]]]));
    const invalid: Item = { kind: 'tasks', tasks: [task('k1', 1, null)], started, unknown: new Set(['k1']) };
    expect(shown(reduce(live, invalid))).toBe('CLARIFICATION');
    // Also where there was no row when that request began.
    const fresh: Item = { ...invalid, started: EMPTY };
    expect(shown(reduce(live, fresh))).toBe('CLARIFICATION');
  });

  test('says permission before question before what its sessions do', () => {
    const status = (action_: 'CLARIFICATION' | 'PERMISSION' | null, state: 'RUNNING' | 'STARTING' | 'FAILED' | 'COMPLETED' | 'IDLE') => {
      const sessions = [{ id: 's1', state, isPrimary: true, projection: null }];
      return statusOf(fold([tasks([['k1', 1, action_, [], { sessions }]])]).tasks.get('k1')!);
    };
    expect([status('PERMISSION', 'STARTING'), status('CLARIFICATION', 'FAILED'), status(null, 'RUNNING'), status(null, 'STARTING'), status(null, 'FAILED'), status(null, 'COMPLETED'), status(null, 'IDLE')])
      .toEqual(['permission', 'clarification', 'generating', 'starting', 'failed', 'done', 'clean']);
  });

  test('that is deleted stays deleted, and takes its questions out of the inbox', () => {
    const state = fold([tasks([['k1', 1, 'CLARIFICATION']]), { kind: 'bundle', bundle: bundle('p1', 5) }]);
    expect(inbox(state)).toHaveLength(1);
    const gone = fold([{ kind: 'gone', id: 'k1' }, tasks([['k1', 2, 'CLARIFICATION']])], state);
    expect(gone.tasks.size).toBe(0);
    expect(inbox(gone)).toHaveLength(0);
  });

  test('has another snapshot after every revision, and the same after a mere reordering', () => {
    const of = (sessions: readonly (readonly [string, number, number])[]) => snapshotOf(fold([tasks([['k1', 1, 'CLARIFICATION', sessions]])]).tasks.get('k1')!);
    expect(of([['s1', 1, 4], ['s2', 1, 1]])).toEqual(of([['s2', 1, 1], ['s1', 1, 4]]));
    expect(of([['s1', 1, 4]])).not.toEqual(of([['s1', 1, 5]]));
  });
});

test('the inbox is oldest first, and drops what its session has left behind', () => {
  const state = fold([
    { kind: 'bundle', bundle: bundle('p2', 5, { createdAt: '2026-12-01T10:00:00.000000Z' }) }, { kind: 'bundle', bundle: bundle('p1', 5) },
  ]);
  expect(inbox(state).map((one) => one.pendingId)).toEqual(['p1', 'p2']);
  expect(inbox(reduce(state, projection(1, 6, null)))).toEqual([]);
  expect(inbox(reduce(state, projection(1, 4, null)))).toHaveLength(2);
});
