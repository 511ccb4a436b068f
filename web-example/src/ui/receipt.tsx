/** What became of a bundle, in its place in the transcript. */
import type { ReactNode } from 'react';
import type { Bundle, Question } from '../api/documents';
import { isOpen } from '../state/store';
import { useApp } from './context';
import { Icon, type IconName } from './icons';
import { InlineMarkdown } from './markdown';
import { moment, t } from './strings';

const ICONS: Record<Bundle['outcome'], IconName> = {
  ANSWERED: 'done', REJECTED: 'skip', CANCELLED: 'close', EXPIRED: 'starting', SUPERSEDED: 'starting', PENDING: 'question',
};

/** The element that gets the focus when a panel closes. */
export const receiptId = (pendingId: string): string => `receipt-${pendingId}`;

interface Props {
  readonly bundle: Bundle;
  readonly isElsewhere: boolean;
  /** The session has left it behind, and what became of it is not known yet. */
  readonly isStale: boolean;
}

export function Receipt({ bundle, isElsewhere, isStale }: Props): ReactNode {
  const { principal } = useApp();
  const { response, outcome } = bundle;
  const isClaimed = bundle.state === 'DELIVERY_CLAIMED';
  const isDecided = outcome === 'ANSWERED' || outcome === 'REJECTED';
  const isLeft = outcome === 'PENDING' && !isClaimed && isStale;
  const isUncertain = bundle.dispatchOutcome === 'UNKNOWN';
  const heading = isLeft ? t.receiptLeft : isUncertain ? t.receiptUncertain : isClaimed ? t.receiptClaimed : isElsewhere && isDecided ? t.receiptElsewhere : t.receipt[outcome];
  const who = response && response.respondedBy !== principal ? t.receiptBy(response.respondedBy) : '';
  return (
    <article id={receiptId(bundle.pendingId)} tabIndex={-1} className={`receipt ${isOpen(bundle) ? 'open' : isUncertain ? 'uncertain' : outcome.toLowerCase()}`} data-bundle={bundle.pendingId} data-outcome={outcome}>
      <header>
        <Icon name={isUncertain ? 'failed' : ICONS[outcome]} />
        <strong>{heading}</strong>
        <span className="muted">{who} {response && moment(response.respondedAt)}</span>
      </header>
      <dl>
        {bundle.questions.map((question) => (
          <div key={question.id}>
            <dt><InlineMarkdown text={question.prompt} /></dt>
            {outcome === 'ANSWERED' && !isClaimed && <dd>{answer(question)}</dd>}
          </div>
        ))}
      </dl>
      {response?.rejectReason && <p className="muted">{t.receiptReason(response.rejectReason)}</p>}
      {isUncertain && <p className="note">{t.receiptUnknown}</p>}
    </article>
  );
}

function answer({ answer: given, options }: Question): ReactNode {
  if (!given) return <em>{t.noAnswer}</em>;
  if (given.isMasked) return <em>{t.masked}</em>;
  const labels = options.filter((option) => given.optionIds.includes(option.id)).map((option) => option.label);
  return (
    <span className="said">
      {labels.length > 0 && <span>{labels.join(', ')}</span>}
      {given.customText && <span className="quote">{given.customText}</span>}
    </span>
  );
}
