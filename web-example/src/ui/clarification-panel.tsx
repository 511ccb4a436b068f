/** The questions that wait, above the composer. One instance for one bundle; nothing is shared with the next one. */
import { useCallback, useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import type { Bundle } from '../api/documents';
import { answeredCount, asText, choose, isAnswered, openQuestions, type Draft } from '../state/drafts';
import { isEditable, type Outcome } from '../state/panel';
import { isCoarse, useApp } from './context';
import { Icon } from './icons';
import { Markdown } from './markdown';
import { QuestionCard } from './question-card';
import { Review } from './review';
import { Skip } from './skip';
import { t } from './strings';
import { usePanel, type PanelControl } from './use-panel';

interface Props {
  readonly bundle: Bundle;
  /** Its session has left it behind: nothing is shown until the store knows what became of it. */
  readonly isLeft: boolean;
  /** It is over; `text` is what the person had entered, and `hadFocus` says that the focus was in here. */
  readonly onClosed: (outcome: Outcome, text: string, hadFocus: boolean) => void;
}

const NUMBER_KEYS = 'answerable.number-keys';

export function ClarificationPanel({ bundle, isLeft, onClosed }: Props): ReactNode {
  const { announce } = useApp();
  const control = usePanel(bundle);
  const { panel, draft } = control;
  const count = openQuestions(bundle).length || bundle.questions.length;
  const root = useRef<HTMLElement>(null);
  useEffect(() => announce(t.announceAsked(count)), [announce, count]);
  useEffect(() => {
    if (panel.outcome === null) return;
    const hadFocus = root.current?.contains(document.activeElement) ?? false;
    announce(t.outcome[panel.outcome]);
    onClosed(panel.outcome, asText(draft, bundle), hadFocus);
    // What the person had entered belongs to this very moment.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [panel.outcome]);
  // A response whose end this page does not know stays in sight.
  const isOwn = panel.phase === 'submitting' || panel.failure === 'no-reply';
  if (panel.phase === 'closed' || (isLeft && !isOwn)) return null;
  return (
    <section ref={root} className={panel.isCollapsed ? 'panel collapsed' : 'panel'} data-bundle={bundle.pendingId} aria-label={panel.isCollapsed ? t.panelHeading(count) : undefined} aria-labelledby={panel.isCollapsed ? undefined : `panel-${bundle.pendingId}`}>
      {panel.isCollapsed ? <Bar bundle={bundle} control={control} /> : <Open bundle={bundle} control={control} />}
    </section>
  );
}

function Bar({ bundle, control }: { readonly bundle: Bundle; readonly control: PanelControl }): ReactNode {
  const expand = useRef<HTMLButtonElement>(null);
  useEffect(() => expand.current?.focus(), []);
  const count = openQuestions(bundle).length;
  return (
    <div className="bar">
      <Icon name="question" className="clarification" />
      <span className="bar-text">
        <span>{t.barOpen(count)}</span>
        <span className="muted">{control.panel.phase === 'submitting' ? t.sending : t.answered(answeredCount(control.draft, bundle), count)}</span>
      </span>
      <button ref={expand} type="button" className="quiet" aria-expanded="false" onClick={() => control.dispatch({ kind: 'expand' })}>
        <Icon name="up" />{t.expand}
      </button>
    </div>
  );
}

function Open({ bundle, control }: { readonly bundle: Bundle; readonly control: PanelControl }): ReactNode {
  const { panel, draft, dispatch } = control;
  const { announce } = useApp();
  const heading = useRef<HTMLHeadingElement>(null);
  const scroll = useRef<HTMLDivElement>(null);
  const questions = openQuestions(bundle);
  const step = Math.min(panel.step, Math.max(0, questions.length - 1));
  const question = questions[step];
  const isReadOnly = !isEditable(panel);
  // The question itself says what is wrong, and takes the focus.
  const isWrong = panel.invalid.has(step) && !panel.isReview;
  const [hasKeys, setHasKeys] = useNumberKeys();
  useEffect(() => {
    // Focus follows only a step that the person took; what arrives leaves it where it is.
    if (panel.isStepOwn && !isWrong) heading.current?.focus();
    if (panel.isStepOwn) announce(panel.isReview ? t.announceReview : t.step(step + 1, questions.length));
  }, [panel.isStepOwn, panel.isReview, isWrong, step, questions.length, announce]);
  useEffect(() => {
    // What was not taken stays in sight beside the reason.
    if (panel.failure) scroll.current?.querySelector('.chosen')?.scrollIntoView({ block: 'nearest' });
  }, [panel.failure]);
  const done = (answers: Draft): void => advance(control, questions.map((each) => isAnswered(answers, each)), step);
  const keys = (event: KeyboardEvent): void => {
    const own = keyOf(event, hasKeys);
    if (own === null || (isReadOnly && own !== 'collapse')) return;
    if (own === 'submit') control.submit();
    else if (own === 'collapse') dispatch({ kind: 'collapse' });
    else if (own === 'left') { if (step > 0 && !panel.isReview) dispatch({ kind: 'step', to: step - 1, isOwn: true }); else return; }
    else if (own === 'right') { if (step < questions.length - 1 && !panel.isReview) dispatch({ kind: 'step', to: step + 1, isOwn: true }); else return; }
    else {
      const option = question?.options[own];
      if (!option || !question || panel.isReview) return;
      const changed = choose(draft, question, option.id);
      control.setDraft(changed);
      if (!question.multiSelect) done(changed);
    }
    event.preventDefault();
  };
  const headingText = panel.isReview ? t.reviewHeading : questions.length > 1 ? t.step(step + 1, questions.length) : t.panelHeading(questions.length);
  return (
    <div className="panel-body" onKeyDown={keys}>
      <header className="panel-head">
        <Icon name="question" className="clarification" />
        <h2 ref={heading} tabIndex={-1} id={`panel-${bundle.pendingId}`}>{headingText}</h2>
        {questions.length > 1 && <span className="count">{t.answered(answeredCount(draft, bundle), questions.length)}</span>}
        {!bundle.agentDisconnected && <span className="chip live">{t.waiting}</span>}
      </header>
      <div ref={scroll} className="panel-scroll">
        {questions.length > 1 && <Steps bundle={bundle} control={control} step={step} />}
        {bundle.context && !panel.isReview && <div className="context"><Markdown text={bundle.context} /></div>}
        {panel.phase === 'claimed' && <p className="note" role="status">{t.claimed}</p>}
        {panel.isReview || !question ? (
          <Review bundle={bundle} draft={draft} isReadOnly={isReadOnly} onEdit={(to) => dispatch({ kind: 'step', to, isOwn: true })} />
        ) : (
          <QuestionCard key={question.id} question={question} draft={draft} isReadOnly={isReadOnly} isDetached={bundle.agentDisconnected} error={panel.invalid.get(step) ?? null} onDraft={control.setDraft} onDone={done} />
        )}
      </div>
      {panel.failure && !isWrong && <p role="alert" className="alert failure">{t.failure[panel.failure]}</p>}
      <Actions bundle={bundle} control={control} step={step} hasKeys={hasKeys} onKeys={setHasKeys} />
    </div>
  );
}

/** After a finished question: the next one, or when it was the last open one, the review. */
function advance(control: PanelControl, answered: readonly boolean[], step: number): void {
  if (answered.length === 1) return;
  if (answered.every(Boolean)) return control.dispatch({ kind: 'review' });
  const open = answered.findIndex((isDone, place) => place > step && !isDone);
  const to = open === -1 ? answered.indexOf(false) : open;
  control.dispatch({ kind: 'step', to, isOwn: true });
}

function useNumberKeys(): [boolean, (has: boolean) => void] {
  const [has, set] = useState(() => localStorage.getItem(NUMBER_KEYS) !== 'off');
  const change = useCallback((on: boolean) => {
    localStorage.setItem(NUMBER_KEYS, on ? 'on' : 'off');
    set(on);
  }, []);
  return [has, change];
}

type Key = 'submit' | 'collapse' | 'left' | 'right' | number;

/** What a key means in the panel; null: it is not ours. */
function keyOf(event: KeyboardEvent, hasNumbers: boolean): Key | null {
  if (event.defaultPrevented || event.nativeEvent.isComposing || event.shiftKey || event.altKey) return null;
  const hasModifier = event.ctrlKey || event.metaKey;
  if (event.key === 'Enter' && hasModifier) return event.repeat ? null : 'submit';
  if (hasModifier) return null;
  if (event.key === 'Escape') return 'collapse';
  const { target } = event;
  const isText = target instanceof HTMLTextAreaElement;
  if (isText) return null;
  if (hasNumbers && /^[1-9]$/.test(event.key)) return Number(event.key) - 1;
  // Arrow keys belong to the choices while one of them has the focus.
  if (target instanceof HTMLInputElement) return null;
  return event.key === 'ArrowLeft' ? 'left' : event.key === 'ArrowRight' ? 'right' : null;
}

function Steps({ bundle, control, step }: { readonly bundle: Bundle; readonly control: PanelControl; readonly step: number }): ReactNode {
  return (
    <nav className="steps" aria-label={t.steps}>
      <ol>
        {openQuestions(bundle).map((question, place) => {
          const isDone = isAnswered(control.draft, question);
          const isHere = place === step && !control.panel.isReview;
          return (
            <li key={question.id}>
              <button type="button" className={isDone ? 'step done' : 'step'} aria-current={isHere ? 'step' : undefined} aria-label={t.stepLabel(place + 1, question.title, isDone)} onClick={() => control.dispatch({ kind: 'step', to: place, isOwn: true })}>
                {isDone ? '✓ ' : `${place + 1} `}<span>{question.title}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

interface ActionsProps {
  readonly bundle: Bundle;
  readonly control: PanelControl;
  readonly step: number;
  readonly hasKeys: boolean;
  readonly onKeys: (has: boolean) => void;
}

function Actions({ bundle, control, step, hasKeys, onKeys }: ActionsProps): ReactNode {
  const { panel, dispatch, isComplete } = control;
  const { mayAnswer } = useApp();
  const questions = openQuestions(bundle);
  const [count, here] = [questions.length, questions[step]];
  const isHereDone = here !== undefined && isAnswered(control.draft, here);
  const isStuck = !isEditable(panel) || !mayAnswer;
  const keep = useCallback(() => dispatch({ kind: 'keep' }), [dispatch]);
  const showsSubmit = count === 1 || panel.isReview || panel.phase === 'submitting';
  const missing = count - answeredCount(control.draft, bundle);
  return (
    <footer className="panel-foot">
      {count > 1 && !panel.isReview && (
        <>
          <button type="button" className="secondary" aria-disabled={step === 0} onClick={() => step > 0 && dispatch({ kind: 'step', to: step - 1, isOwn: true })}>{t.back}</button>
          {step < count - 1 ? (
            <button type="button" className={isHereDone ? 'primary' : 'secondary'} onClick={() => dispatch({ kind: 'step', to: step + 1, isOwn: true })}>{t.next}</button>
          ) : (
            <button type="button" className={isComplete ? 'primary' : 'secondary'} onClick={() => dispatch({ kind: 'review' })}>{t.review}</button>
          )}
        </>
      )}
      {showsSubmit && (
        <button type="button" className="primary" aria-disabled={isStuck || !isComplete} aria-describedby={isComplete ? undefined : `missing-${bundle.pendingId}`} onClick={() => !isStuck && control.submit()}>
          {panel.phase === 'submitting' ? t.sending : panel.phase === 'retryable' ? t.retrySend : t.submit(count)}
        </button>
      )}
      {showsSubmit && !isComplete && <span id={`missing-${bundle.pendingId}`} className={count === 1 ? 'sr-only' : 'hint missing'}>{t.incomplete(missing)}</span>}
      {bundle.canSkip || isEditable(panel) ? (
        <Skip count={count} isAsked={panel.isSkipAsked} isDisabled={isStuck} onAsk={() => dispatch({ kind: 'ask-skip' })} onKeep={keep} onSkip={control.skip} />
      ) : null}
      <button type="button" className="quiet collapse" aria-expanded="true" onClick={() => dispatch({ kind: 'collapse' })}><Icon name="down" /><span>{t.collapse}</span></button>
      {!isCoarse() && (
        <label className="keys"><input type="checkbox" checked={hasKeys} onChange={(event) => onKeys(event.target.checked)} />{t.numberKeys}</label>
      )}
    </footer>
  );
}
