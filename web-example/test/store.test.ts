import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EMPTY, reduce, type Item, type State } from '../src/state/store';
import { actionOf, detailOf, inbox, snapshotOf, staleBundles, statusOf, transcript, visibleBundle } from '../src/state/views';
import { bundle, message, question, revision, row, session, summary, task, without } from './items';

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
  const tasks = (...items: readonly ReturnType<typeof task>[]): Item => ({ kind: 'tasks', tasks: items });
  const only = (state: State) => state.tasks.get('k1')!;

  test('orders what is the task\'s own by its last activity, and its summary by the revision', () => {
    const [early, late] = [task('k1', 1, null, { title: 'early', statusSummary: summary(9, 'PERMISSION') }), task('k1', 2, null, { title: 'late', statusSummary: summary(4, null) })];
    for (const order of [[early, late], [late, early]]) {
      const state = fold(order.map((one) => tasks(one)));
      expect([only(state).item.title, actionOf(only(state))]).toEqual(['late', 'PERMISSION']);
    }
  });

  test('remembers what was held when a list was asked for', () => {
    const started = fold([tasks(task('k1', 1, null))]);
    const live = reduce(started, tasks(task('k1', 2, 'CLARIFICATION')));
    const invalid = (since: State): Item => ({ kind: 'tasks', tasks: [without('k1', 'INVALIDATED')], started: since });
    expect(actionOf(only(reduce(live, invalid(started))))).toBe('CLARIFICATION');
    // Also where there was no row when that request began.
    expect(actionOf(only(reduce(live, invalid(EMPTY))))).toBe('CLARIFICATION');
    expect(only(reduce(live, invalid(live))).held.summary).toBeNull();
  });

  test('says permission before question before failure before what its agents do', () => {
    type Sessions = ReturnType<typeof task>['sessions'];
    const seen = (changes: Parameters<typeof summary>[2], state: Sessions[number]['state']) => {
      const sessions = [{ id: 's1', state, isPrimary: true, projection: null }];
      return statusOf(only(fold([tasks(task('k1', 1, null, { sessions, statusSummary: summary(1, null, changes) }))])));
    };
    const activeError = { preview: 'out of credit' };
    expect([
      seen({ pendingAction: 'PERMISSION', activeError }, 'STARTING'), seen({ pendingAction: 'CLARIFICATION', activeError }, 'FAILED'),
      seen({ activeError, foregroundActivity: 'GENERATING' }, 'RUNNING'), seen({ foregroundActivity: 'BACKGROUND' }, 'RUNNING'), seen({ foregroundActivity: 'GENERATING' }, 'IDLE'),
      seen({}, 'RUNNING'), seen({}, 'STARTING'), seen({}, 'FAILED'), seen({}, 'COMPLETED'), seen({}, 'IDLE'),
    ]).toEqual(['permission', 'clarification', 'failed', 'background', 'generating', 'generating', 'starting', 'failed', 'done', 'clean']);
  });

  test('tells what went wrong and how many help, where its status speaks of that', () => {
    const detail = (changes: Parameters<typeof summary>[2]) => detailOf(only(fold([tasks(task('k1', 1, null, { statusSummary: summary(1, null, changes) }))])));
    const activeError = { preview: 'out of credit' };
    expect(detail({ activeError, activeSubagentCount: 2 })).toEqual({ error: 'out of credit', helpers: 0 });
    expect(detail({ foregroundActivity: 'BACKGROUND', activeSubagentCount: 2 })).toEqual({ error: null, helpers: 2 });
    expect(detail({ pendingAction: 'CLARIFICATION', activeError, activeSubagentCount: 2 })).toEqual({ error: null, helpers: 0 });
  });

  test('that is deleted stays deleted, and takes its questions out of the inbox', () => {
    const state = fold([tasks(task('k1', 1, 'CLARIFICATION')), { kind: 'bundle', bundle: bundle('p1', 5) }]);
    expect(inbox(state)).toHaveLength(1);
    const gone = fold([{ kind: 'gone', id: 'k1' }, tasks(task('k1', 2, 'CLARIFICATION'))], state);
    expect(gone.tasks.size).toBe(0);
    expect(inbox(gone)).toHaveLength(0);
  });

  test('has another snapshot after every revision and every action, and the same after a mere reading', () => {
    const of = (item: ReturnType<typeof task>) => snapshotOf(only(fold([tasks(item)])));
    const held = of(task('k1', 1, 'CLARIFICATION'));
    expect(of(task('k1', 1, 'CLARIFICATION', { title: 'renamed', lastActivityAt: '2026-12-02T09:00:00.000000Z' }))).toEqual(held);
    expect(of(task('k1', 2, 'CLARIFICATION'))).not.toEqual(held);
    expect(of(task('k1', 1, 'PERMISSION'))).not.toEqual(held);
    expect(of(without('k1', 'INVALIDATED', 'CLARIFICATION'))).toEqual({ action: 'CLARIFICATION', revision: null });
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
