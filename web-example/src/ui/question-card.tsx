/** One question with its choices and the text for an answer of one's own. Native inputs, so that keys work as always. */
import { useId, useLayoutEffect, useRef, type KeyboardEvent, type ReactNode } from 'react';
import type { Question } from '../api/documents';
import { answerOf, choose, length, TEXT_COUNTED, TEXT_MAX, write, type Draft } from '../state/drafts';
import { isCoarse } from './context';
import { Markdown } from './markdown';
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

/** A convention of agents: a label that ends so names what they would choose. It is never chosen beforehand. */
const RECOMMENDED = /\s*\(recommended\)\s*$/i;

export function QuestionCard(props: Props): ReactNode {
  const { question, isDetached, error } = props;
  const id = useId();
  const group = question.multiSelect ? t.chooseMany : t.chooseOne;
  return (
    <fieldset className="question" aria-describedby={error ? `${id}-error` : undefined} aria-invalid={error ? true : undefined}>
      <legend>
        {question.title && <span className="question-title">{question.title}</span>}
        <Markdown text={question.prompt} />
        {question.options.length > 0 && <span className="hint">{group}</span>}
      </legend>
      {isDetached && <p className="note">{t.detached}</p>}
      {question.secret && <p className="note">{t.secret}</p>}
      {question.options.map((option, place) => <Option key={option.id} {...props} place={place} group={id} />)}
      {question.allowCustomText && <OwnAnswer {...props} id={id} />}
      {error && <p id={`${id}-error`} role="alert" className="alert">{error}</p>}
    </fieldset>
  );
}

function Option({ question, draft, isReadOnly, place, group, onDraft, onDone }: Props & { readonly place: number; readonly group: string }): ReactNode {
  const option = question.options[place];
  if (!option) return null;
  const isChosen = answerOf(draft, question.id).optionIds.includes(option.id);
  const pick = (): Draft => choose(draft, question, option.id);
  const describedBy = option.description ? `${group}-${place}` : undefined;
  const isRecommended = RECOMMENDED.test(option.label);
  return (
    <label className={isChosen ? 'option chosen' : 'option'}>
      <input
        type={question.multiSelect ? 'checkbox' : 'radio'}
        name={group}
        checked={isChosen}
        disabled={isReadOnly}
        aria-describedby={describedBy}
        onChange={() => onDraft(pick())}
        // Arrow keys choose too, and must not run ahead: only a pointer's click has a count.
        onClick={(event) => !question.multiSelect && event.detail > 0 && onDone(pick())}
      />
      <span className="option-text">
        <span className="option-label">{option.label.replace(RECOMMENDED, '')}{isRecommended && <span className="chip">{t.recommended}</span>}</span>
        {option.description && <span id={describedBy} className="option-description">{option.description}</span>}
      </span>
      <kbd aria-hidden="true">{place + 1}</kbd>
    </label>
  );
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
