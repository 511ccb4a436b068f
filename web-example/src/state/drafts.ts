/** What a person has chosen and written so far, kept by bundle until the bundle is decided. */
import type { Bundle, Question } from '../api/documents';

/** Unicode code points of a free text, at most; the server's limit. */
export const TEXT_MAX = 2_000;
/** From this length on a counter is shown. */
export const TEXT_COUNTED = 1_800;
/** Drafts kept in the browser, at most; the oldest go first. */
const KEPT_MAX = 50;
const PREFIX = 'answerable.draft.';

export interface Answer {
  readonly optionIds: readonly string[];
  readonly text: string;
}

/** By question id. */
export type Draft = Readonly<Record<string, Answer>>;

const NOTHING: Answer = { optionIds: [], text: '' };

export function answerOf(draft: Draft, questionId: string): Answer {
  return Object.hasOwn(draft, questionId) ? (draft[questionId] ?? NOTHING) : NOTHING;
}

/** Unicode code points, so that an emoji of one counts once. */
export function length(text: string): number {
  return [...text].length;
}

/** Chooses an option, or takes it back where several may be chosen. One choice and a text exclude each other. */
export function choose(draft: Draft, question: Question, optionId: string): Draft {
  const held = answerOf(draft, question.id);
  if (!question.multiSelect) return { ...draft, [question.id]: { optionIds: [optionId], text: '' } };
  const has = held.optionIds.includes(optionId);
  const chosen = question.options
    .map((option) => option.id)
    .filter((id) => (id === optionId ? !has : held.optionIds.includes(id)));
  return { ...draft, [question.id]: { ...held, optionIds: chosen } };
}

/** Writes the text; of a single choice it takes the choice's place as soon as it says something. */
export function write(draft: Draft, question: Question, text: string): Draft {
  const held = answerOf(draft, question.id);
  const replaces = !question.multiSelect && text.trim() !== '';
  return { ...draft, [question.id]: { optionIds: replaces ? [] : held.optionIds, text } };
}

/**
 * The questions that still want an answer: a bundle may hold some that are decided already. While a response is being
 * delivered its questions carry an answer that can still be taken back, so they count.
 */
export function openQuestions(bundle: Bundle): readonly Question[] {
  const isClaimed = bundle.state === 'DELIVERY_CLAIMED';
  const isOpen = ({ status }: Question): boolean => status === 'PENDING' || (isClaimed && (status === 'ANSWERED' || status === 'REJECTED'));
  return bundle.questions.filter(isOpen).toSorted((a, b) => a.index - b.index);
}

/** A text that is too long is no answer. */
export function isAnswered(draft: Draft, question: Question): boolean {
  const { optionIds, text } = answerOf(draft, question.id);
  const written = text.trim();
  if (length(written) > TEXT_MAX) return false;
  return optionIds.length > 0 || (question.allowCustomText && written !== '');
}

export function answeredCount(draft: Draft, bundle: Bundle): number {
  return openQuestions(bundle).filter((question) => isAnswered(draft, question)).length;
}

/** What `respond` takes, in the order of the questions. */
export function toAnswers(draft: Draft, bundle: Bundle): { questionId: string; optionIds: string[]; customText: string | null }[] {
  return openQuestions(bundle).map((question) => {
    const { optionIds, text } = answerOf(draft, question.id);
    return { questionId: question.id, optionIds: [...optionIds], customText: text.trim() || null };
  });
}

/** The person's own words as plain text, for when they could not be sent. */
export function asText(draft: Draft, bundle: Bundle): string {
  return openQuestions(bundle)
    .filter((question) => isAnswered(draft, question) && !question.secret)
    .map((question) => {
      const { optionIds, text } = answerOf(draft, question.id);
      const labels = question.options.filter((option) => optionIds.includes(option.id)).map((option) => option.label);
      const said = [...labels, text.trim()].filter((part) => part !== '');
      return `${question.title || question.prompt}: ${said.join('; ')}`;
    })
    .join('\n');
}

/** A draft without what the browser must not keep. */
function storable(draft: Draft, bundle: Bundle): Draft {
  const secret = new Set(bundle.questions.filter((question) => question.secret).map((question) => question.id));
  return Object.fromEntries(Object.entries(draft).filter(([id]) => !secret.has(id)));
}

export function save(storage: Storage, bundle: Bundle, draft: Draft, now: number): void {
  try {
    storage.setItem(PREFIX + bundle.pendingId, JSON.stringify({ at: now, draft: storable(draft, bundle) }));
    prune(storage);
  } catch {
    // A full or forbidden store: the draft lives as long as the page.
  }
}

export function restore(storage: Storage, pendingId: string): Draft {
  try {
    const parsed: unknown = JSON.parse(storage.getItem(PREFIX + pendingId) ?? 'null');
    return isKept(parsed) ? parsed.draft : {};
  } catch {
    return {};
  }
}

export function discard(storage: Storage, pendingId: string): void {
  try {
    storage.removeItem(PREFIX + pendingId);
  } catch {
    // There is nothing to discard where nothing can be kept.
  }
}

function prune(storage: Storage): void {
  const keys = Array.from({ length: storage.length }, (_, n) => storage.key(n)).filter((key) => key?.startsWith(PREFIX));
  if (keys.length <= KEPT_MAX) return;
  const age = (key: string): number => {
    const parsed: unknown = JSON.parse(storage.getItem(key) ?? 'null');
    return isKept(parsed) ? parsed.at : 0;
  };
  const oldest = keys.filter((key) => key !== null).toSorted((a, b) => age(a) - age(b));
  for (const key of oldest.slice(0, keys.length - KEPT_MAX)) storage.removeItem(key);
}

function isKept(value: unknown): value is { at: number; draft: Draft } {
  if (typeof value !== 'object' || value === null || !('at' in value) || !('draft' in value)) return false;
  const { at, draft } = value;
  if (typeof at !== 'number' || typeof draft !== 'object' || draft === null) return false;
  return Object.values(draft).every(
    (answer: unknown) =>
      typeof answer === 'object' && answer !== null && 'text' in answer && typeof answer.text === 'string' &&
      'optionIds' in answer && Array.isArray(answer.optionIds) && answer.optionIds.every((id) => typeof id === 'string'),
  );
}
