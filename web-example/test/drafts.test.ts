import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { createKeys } from '../src/api/respond';
import { answeredCount, answerOf, asText, choose, discard, isAnswered, length, openQuestions, restore, save, toAnswers, write, type Draft } from '../src/state/drafts';
import { bundle, question } from './items';

const single = question('q1');
const multi = question('q2', { multiSelect: true });
const closed = question('q3', { allowCustomText: false });

describe('a draft', () => {
  test('of a single choice holds one option or a text, never both', () => {
    fc.assert(fc.property(fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.string())), (steps) => {
      const draft = steps.reduce<Draft>((held, step) => (['a', 'b', 'c'].includes(step) ? choose(held, single, step) : write(held, single, step)), {});
      const { optionIds, text } = answerOf(draft, 'q1');
      expect(optionIds.length + (text.trim() === '' ? 0 : 1)).toBeLessThanOrEqual(1);
    }));
  });

  test('of several choices keeps them in the question\'s order, with a text beside', () => {
    const draft = write(choose(choose(choose({}, multi, 'c'), multi, 'a'), multi, 'b'), multi, ' and ');
    expect(toAnswers(choose(draft, multi, 'b'), bundle('p', 1, { questions: [multi] }))).toEqual([{ questionId: 'q2', optionIds: ['a', 'c'], customText: 'and' }]);
  });

  test('emptying the text of a single choice takes the answer back', () => {
    expect(isAnswered(write(write({}, single, 'x'), single, '  '), single)).toBe(false);
  });

  test.each([
    ['nothing', {}, single, false], ['spaces', write({}, single, '  '), single, false], ['a choice', choose({}, closed, 'a'), closed, true],
    ['a text where none is allowed', { q3: { optionIds: [], text: 'x' } }, closed, false],
    ['2,000 emoji', write({}, single, '🐕'.repeat(2000)), single, true], ['2,001', write({}, single, '🐕'.repeat(2001)), single, false],
    ['2,000 within spaces', write({}, single, ` ${'x'.repeat(2000)} `), single, true],
    ['a choice with a text that is too long', write(choose({}, multi, 'a'), multi, 'x'.repeat(2001)), multi, false],
  ])('%s', (_name, draft: Draft, of, expected) => {
    expect(isAnswered(draft, of)).toBe(expected);
  });

  test('counts code points', () => {
    expect(length('🐕é')).toBe(2);
  });

  test('is sent in the order of the questions, for those that are still open', () => {
    const asked = bundle('p', 1, { questions: [multi, question('q3', { status: 'ANSWERED' }), single] });
    const draft = choose(choose({}, multi, 'a'), single, 'b');
    expect(toAnswers(draft, asked).map((answer) => answer.questionId)).toEqual(['q1', 'q2']);
    expect(answeredCount(draft, asked)).toBe(2);
    expect(asText(draft, asked)).toBe('q1: B\nq2: A');
  });

  test('keeps its questions in sight while a response is delivered', () => {
    const asked = bundle('p', 1, { state: 'DELIVERY_CLAIMED', questions: [question('q1', { status: 'ANSWERED' })] });
    expect(openQuestions(asked)).toHaveLength(1);
  });
});

describe('the browser\'s store', () => {
  beforeEach(() => localStorage.clear());

  test('gives a draft back by its bundle, until it is discarded', () => {
    const draft = write(choose({}, multi, 'a'), single, 'x');
    save(localStorage, bundle('p1', 1, { questions: [single, multi] }), draft, 1);
    expect(restore(localStorage, 'p1')).toEqual(draft);
    expect(restore(localStorage, 'p2')).toEqual({});
    discard(localStorage, 'p1');
    expect(restore(localStorage, 'p1')).toEqual({});
  });

  test('never gets the answer of a secret question', () => {
    const secret = question('q1', { secret: true });
    save(localStorage, bundle('p1', 1, { questions: [secret, multi] }), write(choose({}, multi, 'a'), secret, 'hunter2'), 1);
    expect(JSON.stringify({ ...localStorage })).not.toContain('hunter2');
    expect(restore(localStorage, 'p1')).toEqual({ q2: { optionIds: ['a'], text: '' } });
  });

  test('keeps at most fifty, the newest', () => {
    for (let n = 0; n < 60; n += 1) save(localStorage, bundle(`p${n}`, 1), choose({}, single, 'a'), n);
    expect(localStorage.length).toBe(50);
    expect(restore(localStorage, 'p59')).not.toEqual({});
    expect(restore(localStorage, 'p0')).toEqual({});
  });

  test('that holds something else, or nothing can be kept in, is no obstacle', () => {
    for (const text of ['{', 'null', '{"draft":3}', '{"at":1,"draft":{"q1":{"text":4}}}']) {
      localStorage.setItem('answerable.draft.p1', text);
      expect(restore(localStorage, 'p1')).toEqual({});
    }
    const full = { ...localStorage, setItem: () => { throw new Error('full'); }, getItem: () => { throw new Error('no'); }, removeItem: () => { throw new Error('no'); } } as unknown as Storage;
    save(full, bundle('p1', 1), {}, 1);
    discard(full, 'p1');
    expect(restore(full, 'p1')).toEqual({});
  });
});

test('a response that nobody answered keeps its key, and one whose end is known does not', () => {
  let n = 0;
  const keys = createKeys(() => `key ${(n += 1)}`);
  expect([keys.of('x'), keys.of('x'), keys.of('y')]).toEqual(['key 1', 'key 1', 'key 2']);
  keys.settle();
  expect(keys.of('y')).toBe('key 3');
});
