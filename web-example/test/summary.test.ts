import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { merged, NOTHING, readingOf, type Held, type Reading } from '../src/state/summary';
import { actionOf } from '../src/state/views';
import { summary, task, without } from './items';

const present = (at: number, action: 'CLARIFICATION' | 'PERMISSION' | null = null): Reading => readingOf(task('k1', at, action));
const omitted: Reading = readingOf(without('k1', 'OMITTED'));
const invalidated: Reading = readingOf(without('k1', 'INVALIDATED'));
const fold = (readings: readonly Reading[], from: Held = NOTHING): Held => readings.reduce((held, reading) => merged(held, reading), from);
const at = (held: Held): string | null => held.summary?.revision ?? null;

describe('what is held of a summary', () => {
  test.each([
    ['the first', NOTHING, present(4), '4'],
    ['a newer one', fold([present(4)]), present(5), '5'],
    ['an older one is refused', fold([present(4)]), present(1), '4'],
    ['ten is more than nine', fold([present(9)]), present(10), '10'],
    ['nine is less than ten', fold([present(10)]), present(9), '10'],
    ['one left out keeps', fold([present(4)]), omitted, '4'],
    ['one left out, of nothing', NOTHING, omitted, null],
    ['one that could not be told drops', fold([present(4)]), invalidated, null],
    ['after that an older one is refused still', fold([present(4), invalidated]), present(3), null],
    ['after that the same one may come back', fold([present(4), invalidated]), present(4), '4'],
    ['after that a newer one comes', fold([present(4), invalidated]), present(5), '5'],
    ['one whose revision cannot be read is as left out', fold([present(4)]), readingOf(task('k1', 'x', 'PERMISSION')), '4'],
  ] as const)('%s', (_name, held, reading, expected) => {
    expect(at(merged(held, reading))).toBe(expected);
  });

  test('is not dropped by an answer that could not tell it, where it came after that was asked for', () => {
    const [asked, live] = [fold([present(4)]), fold([present(5, 'CLARIFICATION')])];
    expect(at(merged(live, invalidated, asked))).toBe('5');
    expect(at(merged(live, invalidated, NOTHING))).toBe('5');
    expect(at(merged(live, invalidated, live))).toBeNull();
  });

  test('does not come back by an answer that was asked for before it was dropped', () => {
    const asked = fold([present(4)]);
    const dropped = fold([invalidated], asked);
    expect(at(merged(dropped, present(4), asked))).toBeNull();
    expect(at(merged(dropped, present(5), asked))).toBe('5');
    expect(at(merged(dropped, present(4), dropped))).toBe('4');
  });

  test('after any mix of lists, events, gaps and failures is never older than anything seen before', () => {
    const revision = fc.nat(20).map((n) => present(n));
    const reading = fc.oneof({ weight: 4, arbitrary: revision }, fc.constant(omitted), fc.constant(invalidated));
    fc.assert(fc.property(fc.array(fc.record({ reading, since: fc.nat(5) }), { minLength: 1, maxLength: 20 }), (steps) => {
      const history: Held[] = [NOTHING];
      for (const step of steps) {
        const held = history.at(-1)!;
        // Asked for some steps ago.
        const next = merged(held, step.reading, history.at(-1 - step.since) ?? NOTHING);
        expect(next.seen >= held.seen).toBe(true);
        if (next.summary) expect(BigInt(next.summary.revision)).toBe(next.seen);
        if (step.reading.kind === 'omitted') expect(next).toBe(held);
        history.push(next);
      }
    }));
  });

  test('is the greatest of all revisions in whatever order they come, when none failed', () => {
    fc.assert(fc.property(fc.array(fc.nat(1_000), { minLength: 1, maxLength: 12 }).chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))), ([all, order]) => {
      const mixed = order.flatMap((n) => [present(n), omitted]);
      expect(at(fold(mixed))).toBe(String(Math.max(...all)));
    }));
  });
});

describe('a row\'s action', () => {
  const shown = (item: ReturnType<typeof task>, held: Held) => actionOf({ item, held });
  const asks = task('k1', 4, 'CLARIFICATION');

  test.each([
    ['is the summary\'s', asks, fold([present(4, 'PERMISSION')]), 'PERMISSION'],
    ['is none where the summary says none, whatever the coarse one is', asks, fold([present(4, null)]), null],
    ['is the coarse one where no summary is held', without('k1', 'OMITTED', 'CLARIFICATION'), NOTHING, 'CLARIFICATION'],
    ['is the coarse one where the summary was dropped', without('k1', 'INVALIDATED', 'PERMISSION'), fold([present(4, null), invalidated]), 'PERMISSION'],
  ] as const)('%s', (_name, item, held, expected) => {
    expect(shown(item, held)).toBe(expected);
  });
});

test('a reading tells null from left out', () => {
  expect(readingOf(task('k1', 3, null))).toEqual({ kind: 'present', summary: summary(3, null), revision: 3n });
  expect(readingOf(without('k1', 'OMITTED')).kind).toBe('omitted');
  expect(readingOf(without('k1', 'INVALIDATED')).kind).toBe('invalidated');
});
