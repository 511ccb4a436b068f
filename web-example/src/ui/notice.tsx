/** Stands where a page would, when there is none to show: what is the matter, and what one can do. */
import type { ReactNode } from 'react';
import { Icon } from './icons';
import { t } from './strings';

interface Props {
  readonly text: string;
  /** Tries again; without it the way leads back to what needs somebody. */
  readonly onRetry?: () => void;
}

export function Notice({ text, onRetry }: Props): ReactNode {
  return (
    <div className="empty" role={onRetry ? 'alert' : 'status'}>
      <Icon name={onRetry ? 'failed' : 'clean'} className={onRetry ? 'failed' : 'muted'} />
      <h1>{text}</h1>
      {onRetry ? <button type="button" className="secondary" onClick={onRetry}>{t.retry}</button> : <a href="#/">{t.backToInbox}</a>}
    </div>
  );
}
