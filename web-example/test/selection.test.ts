import { describe, expect, test, vi } from 'vitest';
import { createLoads, createSelection, isAbort, ownerOf, type Host } from '../src/state/selection';
import type { Snapshot } from '../src/state/views';
import { revision, row } from './items';

const asks = (id: string, changes = {}) => row(id, { projection: { action: 'CLARIFICATION', revision: revision(1, 2) }, ...changes });
const pending: Snapshot = { action: 'CLARIFICATION', revision: 'r1' };
const clean: Snapshot = { action: null, revision: 'r1' };

/** A host whose loads are settled by hand, and that writes down what was done to it. */
function stage(snapshot: Snapshot | undefined, preferred: string | null = 'primary') {
  const [done, loads] = [[] as string[], [] as { resolve: (rows: ReturnType<typeof row>[]) => void; reject: (error: unknown) => void; signal: AbortSignal }[]];
  const listeners = new Set<(id: string | null) => void>();
  const held = { snapshot };
  const host: Host = {
    lookup: () => held.snapshot,
    preferred: () => preferred,
    load: (_task, signal) => new Promise((resolve, reject) => void loads.push({ resolve, reject, signal })),
    release: () => void done.push('release'),
    navigate: (task, session) => void done.push(`navigate ${task} ${session}`),
    close: () => void done.push('close'),
    onActiveTask(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return { host, done, loads, held, listeners, selection: createSelection(host) };
}

const abort = () => new DOMException('', 'AbortError');

describe('an activation', () => {
  test('of a clean task whose session is known switches at once', async () => {
    const { selection, done, loads } = stage(clean);
    expect(await selection.activate('k')).toBe('preferred');
    expect(done).toEqual(['navigate k primary', 'close']);
    expect(loads).toHaveLength(0);
  });

  test('of a pending task asks the server first and opens the owner, not the preferred one', async () => {
    const { selection, done, loads } = stage(pending);
    const over = selection.activate('k');
    expect(done).toEqual([]);
    loads[0]!.resolve([row('primary'), asks('second')]);
    expect(await over).toBe('owner');
    expect(done).toEqual(['navigate k second', 'close']);
  });

  test.each([
    ['clean with a first session', clean, null, [row('s1')], 'preferred', ['navigate k s1', 'close']],
    ['clean with a primary one', clean, null, [row('s1'), row('s2', { isPrimary: true })], 'preferred', ['navigate k s2', 'close']],
    ['clean without a session', clean, null, [], 'task-only', ['release', 'navigate k null', 'close']],
    ['pending without an owner', pending, 'primary', [row('primary')], 'task-only', ['release', 'navigate k null', 'close']],
    ['pending with an owner that is over', pending, 'primary', [asks('s1', { isInputCapable: false, state: 'COMPLETED' })], 'task-only', ['release', 'navigate k null', 'close']],
  ] as const)('%s', async (_name, snapshot, preferred, rows, outcome, expected) => {
    const { selection, done, loads } = stage(snapshot, preferred);
    const over = selection.activate('k');
    loads[0]!.resolve([...rows]);
    expect(await over).toBe(outcome);
    expect(done).toEqual(expected);
  });

  test.each([
    ['another action', { action: 'PERMISSION', revision: 'r2' } as Snapshot],
    ['the same action with a newer revision', { action: 'CLARIFICATION', revision: 'r2' } as Snapshot],
    ['no action any more', { action: null, revision: 'r2' } as Snapshot],
  ])('goes task-only when the summary has %s after the load, also after a failed one', async (_name, later) => {
    for (const fails of [false, true]) {
      const { selection, done, loads, held } = stage(pending);
      const over = selection.activate('k');
      held.snapshot = later;
      if (fails) loads[0]!.reject(new Error('offline'));
      else loads[0]!.resolve([asks('second')]);
      expect(await over).toBe('task-only');
      expect(done).toEqual(['release', 'navigate k null', 'close']);
    }
  });

  test('moves nothing when the task is gone', async () => {
    for (const fails of [false, true]) {
      const { selection, done, loads, held } = stage(pending);
      const over = selection.activate('k');
      held.snapshot = undefined;
      if (fails) loads[0]!.reject(new Error('offline'));
      else loads[0]!.resolve([asks('second')]);
      expect(await over).toBe('inert');
      expect(done).toEqual([]);
    }
  });

  test('of a task that was never projected goes on without', async () => {
    const { selection, done, loads } = stage(undefined, null);
    const over = selection.activate('k');
    loads[0]!.resolve([row('s1')]);
    expect(await over).toBe('preferred');
    expect(done).toEqual(['navigate k s1', 'close']);
  });

  test('fails closed when the load fails: task-only while pending, and without any session when clean', async () => {
    for (const [snapshot, preferred] of [[pending, 'primary'], [clean, null]] as const) {
      const { selection, done, loads } = stage(snapshot, preferred);
      const over = selection.activate('k');
      loads[0]!.reject(new Error('offline'));
      expect(await over).toBe('task-only');
      expect(done).toEqual(['release', 'navigate k null', 'close']);
    }
  });

  test('whose load was aborted by a newer one moves nothing', async () => {
    for (const snapshot of [pending, clean]) {
      const { selection, done, loads } = stage(snapshot, null);
      const over = selection.activate('k');
      loads[0]!.reject(abort());
      expect(await over).toBe('inert');
      expect(done).toEqual([]);
    }
  });

  test('is inert after another task became active, even if the first came back', async () => {
    for (const visits of [['other'], ['other', 'k'], [null, 'k']]) {
      const { selection, done, loads, listeners } = stage(pending);
      const over = selection.activate('k');
      for (const visit of visits) for (const listener of listeners) listener(visit);
      loads[0]!.resolve([asks('second')]);
      expect(await over).toBe('inert');
      expect(done).toEqual([]);
    }
  });

  test('is inert after a later choice, and aborts its own load', async () => {
    const { selection, done, loads } = stage(pending);
    const [first, second] = [selection.activate('k1'), selection.activate('k2')];
    expect(loads[0]!.signal.aborted).toBe(true);
    loads[1]!.resolve([asks('second')]);
    loads[0]!.resolve([asks('first')]);
    expect([await first, await second]).toEqual(['inert', 'owner']);
    expect(done).toEqual(['navigate k2 second', 'close']);
  });

  test('of a sheet that was closed or unmounted stays inert when it is opened again', async () => {
    const { selection, done, loads } = stage(pending);
    const over = selection.activate('k');
    selection.invalidate();
    loads[0]!.resolve([asks('second')]);
    expect(await over).toBe('inert');
    expect(done).toEqual([]);
  });

  test('in one sheet does not disturb another sheet\'s', async () => {
    const [one, other] = [stage(pending), stage(pending)];
    const [first, second] = [one.selection.activate('k'), other.selection.activate('k')];
    one.selection.invalidate();
    one.loads[0]!.resolve([asks('second')]);
    other.loads[0]!.resolve([asks('second')]);
    expect([await first, await second]).toEqual(['inert', 'owner']);
  });

  test('leaves no listener behind, whatever its end', async () => {
    for (const settle of ['resolve', 'reject', 'abort'] as const) {
      const { selection, loads, listeners } = stage(pending);
      const over = selection.activate('k');
      expect(listeners.size).toBe(1);
      if (settle === 'resolve') loads[0]!.resolve([]);
      else loads[0]!.reject(settle === 'abort' ? abort() : new Error('offline'));
      await over;
      expect(listeners.size).toBe(0);
    }
  });
});

test('the owner is the first that can take input and has that very action, in the server\'s order', () => {
  const rows = [asks('over', { isInputCapable: false }), row('clean'), asks('newest'), asks('older')];
  expect(ownerOf(rows, 'CLARIFICATION')).toBe('newest');
  expect(ownerOf(rows, 'PERMISSION')).toBeNull();
});

describe('authoritative loads', () => {
  function manual() {
    const calls: { resolve: (value: string) => void; reject: (error: unknown) => void; signal: AbortSignal }[] = [];
    const apply = vi.fn();
    const loads = createLoads<string>((_key, signal) => new Promise((resolve, reject) => void calls.push({ resolve, reject, signal })), apply);
    return { calls, apply, loads, start: (key: string) => loads.load(key, new AbortController().signal) };
  }

  test('of one task that overlap: only the newest writes, whichever ends last', async () => {
    const { calls, apply, start } = manual();
    const [older, newer] = [start('k'), start('k')];
    expect(calls[0]!.signal.aborted).toBe(true);
    calls[1]!.resolve('newer');
    expect(await newer).toBe('newer');
    calls[0]!.resolve('older');
    expect(await older.catch(isAbort)).toBe(true);
    expect(apply.mock.calls).toEqual([['k', 'newer']]);
  });

  test('that fail after they were replaced are aborted, not failed', async () => {
    const { calls, start } = manual();
    const [older, newer] = [start('k'), start('k')];
    calls[0]!.reject(new Error('offline'));
    expect(await older.catch(isAbort)).toBe(true);
    calls[1]!.reject(new Error('offline'));
    expect(await newer.catch((error: Error) => error.message)).toBe('offline');
  });

  test('of two tasks do not meet', async () => {
    const { calls, start } = manual();
    const [one, other] = [start('k1'), start('k2')];
    calls[0]!.resolve('1');
    calls[1]!.resolve('2');
    expect([await one, await other]).toEqual(['1', '2']);
  });
});
