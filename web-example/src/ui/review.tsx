/** All answers before they are sent. */
import type { ReactNode } from 'react';
import type { Bundle, Question } from '../api/documents';
import { answerOf, isAnswered, openQuestions, type Draft } from '../state/drafts';
import { t } from './strings';

interface Props {
  readonly bundle: Bundle;
  readonly draft: Draft;
  readonly isReadOnly: boolean;
  readonly onEdit: (step: number) => void;
}

export function Review({ bundle, draft, isReadOnly, onEdit }: Props): ReactNode {
  return (
    <div className="review">
      <h3>{t.reviewHeading}</h3>
      <dl>
        {openQuestions(bundle).map((question, step) => (
          <div key={question.id}>
            <dt>{question.title || question.prompt}</dt>
            <dd>
              {isAnswered(draft, question) ? said(draft, question) : <em>{t.notAnswered}</em>}
              <button type="button" className="link" disabled={isReadOnly} aria-label={t.editOf(question.title || question.prompt)} onClick={() => onEdit(step)}>{t.edit}</button>
            </dd>
          </div>
        ))}
      </dl>
      {bundle.agentDisconnected && <p className="note">{t.detached}</p>}
    </div>
  );
}

function said(draft: Draft, question: Question): ReactNode {
  const { optionIds, text } = answerOf(draft, question.id);
  const labels = question.options.filter((option) => optionIds.includes(option.id)).map((option) => option.label);
  return (
    <span className="said">
      {labels.length > 0 && <span>{labels.join(', ')}</span>}
      {text.trim() !== '' && <span className="quote">{text.trim()}</span>}
    </span>
  );
}
