/** One question with its choices and the text for an answer of one's own. Native inputs, so that keys work as always. */
import { useCallback, useEffect, useId, useLayoutEffect, useRef, type KeyboardEvent, type ReactNode } from 'react';
import type { Question } from '../api/documents';
import { answerOf, choose, length, TEXT_COUNTED, TEXT_MAX, write, type Draft } from '../state/drafts';
import { isCoarse } from './context';
import { Markdown } from './markdown';
import { Option } from './option';
import { t } from './strings';

interface Props {
  readonly question: Question;
  readonly draft: Draft;
  readonly isReadOnly: boolean;
  readonly isDetached: boolean;
  readonly error: string | null;
  readonly onDraft: (draft: Draft) => void;
  /** The person chose by pointer or finished the text: the next step may follow. */
  readonly onDone: (draft: Draft) => void;
}

export function QuestionCard(props: Props): ReactNode {
  const { question, isDetached, error } = props;
  const id = useId();
  const group = question.multiSelect ? t.chooseMany : t.chooseOne;
  const fields = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    const find = (what: string): HTMLElement | null | undefined => fields.current?.querySelector<HTMLElement>(what);
    if (!error) return;
    (find('input:checked') ?? find('input, textarea'))?.focus();
    find('.alert')?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  return (
    <fieldset ref={fields} className="question" aria-describedby={error ? `${id}-error` : undefined} aria-invalid={error ? true : undefined}>
      <legend>
        {question.title && <span className="question-title">{question.title}</span>}
        <Markdown text={question.prompt} />
        {question.options.length > 0 && <span className="hint">{group}</span>}
      </legend>
      {error && <p id={`${id}-error`} role="alert" className="alert">{error}</p>}
      {isDetached && <p className="hint">{t.detached}</p>}
      {question.secret && <p className="hint">{t.secret}</p>}
      <Options {...props} id={id} />
      {question.allowCustomText && <OwnAnswer {...props} id={id} />}
    </fieldset>
  );
}

function Options({ id, ...props }: Props & { readonly id: string }): ReactNode {
  const { question, draft, isReadOnly } = props;
  const latest = useRef(props);
  latest.current = props;
  const pick = useCallback((optionId: string) => {
    const now = latest.current;
    now.onDraft(choose(now.draft, now.question, optionId));
  }, []);
  const finish = useCallback((optionId: string) => {
    const now = latest.current;
    now.onDone(choose(now.draft, now.question, optionId));
  }, []);
  const { optionIds } = answerOf(draft, question.id);
  return question.options.map((option, place) => (
    <Option key={option.id} {...option} place={place} group={id} isMany={question.multiSelect} isChosen={optionIds.includes(option.id)} isReadOnly={isReadOnly} onPick={pick} onPointer={finish} />
  ));
}

function OwnAnswer({ question, draft, isReadOnly, error, id, onDraft, onDone }: Props & { readonly id: string }): ReactNode {
  const area = useRef<HTMLTextAreaElement>(null);
  const { text } = answerOf(draft, question.id);
  const size = length(text.trim());
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = 'auto';
    element.style.height = `${Math.min(160, element.scrollHeight + 2)}px`;
  }, [text]);
  const label = question.options.length === 0 ? t.ownAnswer : question.multiSelect ? t.ownAnswerAnd : t.ownAnswerOr;
  const finish = (event: KeyboardEvent): void => {
    const isPlain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
    if (event.key !== 'Enter' || !isPlain || isCoarse() || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!event.repeat && text.trim() !== '' && size <= TEXT_MAX) onDone(draft);
  };
  return (
    <div className="own">
      <label htmlFor={`${id}-own`}>{label}</label>
      <textarea
        ref={area}
        id={`${id}-own`}
        rows={1}
        value={text}
        readOnly={isReadOnly}
        placeholder={t.ownAnswerHint}
        aria-describedby={size > TEXT_COUNTED ? `${id}-count` : undefined}
        aria-invalid={size > TEXT_MAX || error !== null}
        aria-errormessage={error ? `${id}-error` : undefined}
        onChange={(event) => onDraft(write(draft, question, event.target.value))}
        onKeyDown={finish}
      />
      {size > TEXT_COUNTED && (
        <span id={`${id}-count`} className={size > TEXT_MAX ? 'hint over' : 'hint'}>{size > TEXT_MAX ? t.over(size - TEXT_MAX) : t.left(TEXT_MAX - size)}</span>
      )}
    </div>
  );
}
