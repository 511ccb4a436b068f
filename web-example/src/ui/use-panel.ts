/** One panel's state with its draft, and the one response that may be under way. */
import { useCallback, useEffect, useReducer, useRef, useState } from 'react';
import { createKeys, respond, type Response } from '../api/respond';
import type { Bundle } from '../api/documents';
import { discard, isAnswered, openQuestions, restore, save, toAnswers, type Draft } from '../state/drafts';
import { isEditable, next, OPENED, type Event, type Panel } from '../state/panel';
import { useApp } from './context';
import { t } from './strings';

export interface PanelControl {
  readonly panel: Panel;
  readonly draft: Draft;
  readonly isComplete: boolean;
  dispatch(event: Event): void;
  setDraft(draft: Draft): void;
  /** Sends the answers, if each question has one and nothing is under way. */
  submit(draft?: Draft): void;
  skip(): void;
}

export function usePanel(bundle: Bundle): PanelControl {
  const { api, store, announce } = useApp();
  const [panel, dispatch] = useReducer(next, OPENED);
  const [draft, keep] = useState<Draft>(() => restore(localStorage, bundle.pendingId));
  const [keys] = useState(createKeys);
  const isUnderWay = useRef(false);
  useEffect(() => {
    dispatch({ kind: 'bundle', state: bundle.state, outcome: bundle.outcome });
  }, [bundle.state, bundle.outcome]);
  const setDraft = useCallback(
    (changed: Draft) => {
      keep(changed);
      save(localStorage, bundle, changed, Date.now());
      dispatch({ kind: 'edit' });
    },
    [bundle],
  );
  const send = async (response: Response): Promise<void> => {
    if (isUnderWay.current || !isEditable(panel)) return;
    isUnderWay.current = true;
    dispatch({ kind: 'submit' });
    announce(t.sending);
    const reply = await respond(api, store, bundle, response, keys);
    isUnderWay.current = false;
    if (reply.kind === 'accepted') discard(localStorage, bundle.pendingId);
    dispatch({ kind: 'reply', reply });
  };
  const isFull = (answers: Draft): boolean => openQuestions(bundle).every((question) => isAnswered(answers, question));
  return {
    panel,
    draft,
    isComplete: isFull(draft),
    dispatch,
    setDraft,
    submit: (answers = draft) => void (isFull(answers) && send({ kind: 'answers', answers: toAnswers(answers, bundle) })),
    skip: () => void send({ kind: 'skip' }),
  };
}
