/** Skip in two steps on one place, so that neither a slip nor a dialog stands between a person and the question. */
import { useEffect, type MouseEvent, type ReactNode } from 'react';
import { Icon } from './icons';
import { t } from './strings';

const SURE_MS = 5_000;

interface Props {
  readonly count: number;
  readonly isAsked: boolean;
  readonly isDisabled: boolean;
  readonly onAsk: () => void;
  readonly onKeep: () => void;
  readonly onSkip: () => void;
}

export function Skip({ count, isAsked, isDisabled, onAsk, onKeep, onSkip }: Props): ReactNode {
  useEffect(() => {
    if (!isAsked) return undefined;
    const timer = setTimeout(onKeep, SURE_MS);
    return () => clearTimeout(timer);
  }, [isAsked, onKeep]);
  const press = (event: MouseEvent): void => {
    // The second click of a double click confirms nothing.
    if (isDisabled || event.detail > 1) return;
    if (isAsked) onSkip();
    else onAsk();
  };
  return (
    <span className="skip">
      <button type="button" className={isAsked ? 'danger' : 'quiet'} title={t.skipHint} aria-disabled={isDisabled} onClick={press}>
        <Icon name="skip" />{isAsked ? t.skipSure(count) : t.skip}
      </button>
      {isAsked && <button type="button" className="quiet" onClick={onKeep}>{t.keep}</button>}
    </span>
  );
}
