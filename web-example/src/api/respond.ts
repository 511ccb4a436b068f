/** Sends a response to one exact bundle, and says what came of it in the panel's words. */
import type { Reply } from '../state/panel';
import type { Store } from '../state/store';
import { Fault, type Api } from './client';
import { PromptMutation, RespondMutation, SkipMutation, type Bundle, type ResponseItem } from './documents';

export interface Answers {
  readonly kind: 'answers';
  readonly answers: readonly { questionId: string; optionIds: string[]; customText: string | null }[];
}

export type Response = Answers | { readonly kind: 'skip' };

/** The key of a response: a repeated body keeps it while nobody knows what became of the first. */
export interface Keys {
  of(body: string): string;
  /** Its outcome is known: the same body is another response from now on. */
  settle(): void;
}

export function createKeys(fresh: () => string = () => crypto.randomUUID()): Keys {
  let held: { readonly body: string; readonly key: string } | null = null;
  return {
    of(body) {
      if (held?.body !== body) held = { body, key: fresh() };
      return held.key;
    },
    settle: () => void (held = null),
  };
}

export async function respond(api: Api, store: Store, bundle: Bundle, response: Response, keys: Keys): Promise<Reply> {
  const { pendingId, turn } = bundle;
  const input = { pendingId, clientKey: keys.of(JSON.stringify(response)), expectedTurnId: turn?.id ?? null };
  try {
    const result =
      response.kind === 'answers'
        ? (await api.mutate(RespondMutation, { input: { ...input, answers: response.answers.map((answer) => ({ ...answer })) } })).respond
        : (await api.mutate(SkipMutation, { input: { ...input, reason: null } })).skip;
    keys.settle();
    if (result.__typename === 'NotFound') store.apply({ kind: 'gone', id: pendingId });
    if ('clarification' in result && result.clarification) store.apply({ kind: 'bundle', bundle: result.clarification });
    return replyOf(result, response.kind === 'skip', bundle);
  } catch (error) {
    // Only what certainly was not begun frees the key.
    if (error instanceof Fault && error.code === 'BUSY') keys.settle();
    return { kind: 'lost' };
  }
}

function replyOf(result: ResponseItem, isSkip: boolean, bundle: Bundle): Reply {
  switch (result.__typename) {
    case 'ResponseAccepted':
      return { kind: 'accepted', isSkip };
    case 'ResponseConflict':
      return { kind: 'conflict', reason: result.reason };
    case 'DeliveryFailed':
      return { kind: 'failed', isRetryable: result.retryable, code: result.code };
    case 'InvalidResponse':
      return { kind: 'invalid', errors: new Map(result.errors.map((error) => [placeOf(error.path, bundle), error.message])) };
    case 'NotFound':
      return { kind: 'missing' };
    default:
      return { kind: 'refused' };
  }
}

/** `answers[2].customText` is about the third question that was sent; what names none is about the first. */
function placeOf(path: string, bundle: Bundle): number {
  const place = Number(/^answers\[(\d+)\]/.exec(path)?.[1] ?? 0);
  return Math.min(place, Math.max(0, bundle.questions.length - 1));
}

/** What came of a message. */
export type Sent = 'sent' | 'failed' | 'unknown' | 'busy' | 'refused' | 'lost';

export async function prompt(api: Api, sessionId: string, text: string, keys: Keys): Promise<Sent> {
  try {
    const { sendPrompt } = await api.mutate(PromptMutation, { input: { sessionId, text, clientKey: keys.of(text) } });
    keys.settle();
    if (sendPrompt.__typename === 'PromptAccepted') return 'sent';
    if (sendPrompt.__typename === 'PromptFailed') return sendPrompt.retryable ? 'failed' : 'unknown';
    if (sendPrompt.__typename === 'Refused') {
      return sendPrompt.refusal === 'TURN_IN_PROGRESS' || sendPrompt.refusal === 'DISPATCH_UNRESOLVED' ? 'busy' : 'refused';
    }
    return 'refused';
  } catch {
    return 'lost';
  }
}
