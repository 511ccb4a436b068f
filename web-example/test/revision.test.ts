import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compare, isNewer, mayReplace } from '../src/state/revision';
import { revision } from './items';

describe('a revision', () => {
  test.each([
    ['7:2', '7:1', false], ['7:2', '7:2', true], ['9:99', '10:1', true], ['10:1', '9:100', false], ['3:1', '1:99', false],
    ['1:18446744073709551616', '1:18446744073709551617', true], ['1:9', '1:10', true],
  ])('held %s, arriving %s: replaces is %s', (held, arriving, replaces) => {
    const [a, b] = [held, arriving].map((text) => text.split(':')) as [[string, string], [string, string]];
    expect(mayReplace(revision(...a), revision(...b))).toBe(replaces);
  });

  test('that cannot be read replaces nothing and is replaced by anything that can', () => {
    for (const bad of ['', '-1', '1.0', 'x', ' 1']) {
      expect(mayReplace(null, revision(bad, 1))).toBe(false);
      expect(mayReplace(revision(1, 1), revision(1, bad))).toBe(false);
      expect(mayReplace(revision(bad, 1), revision(0, 0))).toBe(true);
    }
    expect(mayReplace(revision(1, 1), null)).toBe(false);
    expect(mayReplace(undefined, revision(0, 0))).toBe(true);
  });

  const any = fc.record({ epoch: fc.bigInt({ min: 0n }).map(String), sequence: fc.bigInt({ min: 0n }).map(String) });

  test('is totally ordered', () => {
    fc.assert(fc.property(any, any, any, (a, b, c) => {
      expect(compare(a, b)).toBe(-(compare(b, a) ?? 0) + 0);
      if (mayReplace(a, b) && mayReplace(b, c)) expect(mayReplace(a, c)).toBe(true);
      expect(isNewer(a, b)).toBe(compare(a, b) === 1);
    }));
  });

  test('every order of arrival ends at the greatest one', () => {
    fc.assert(fc.property(fc.array(any, { minLength: 1, maxLength: 6 }), (all) => {
      const fold = (items: typeof all) => items.reduce<(typeof all)[number] | null>((held, next) => (mayReplace(held, next) ? next : held), null);
      const [forwards, backwards] = [fold(all), fold(all.toReversed())];
      expect(compare(forwards!, backwards!)).toBe(0);
      expect(all.every((one) => mayReplace(one, forwards))).toBe(true);
    }));
  });
});
