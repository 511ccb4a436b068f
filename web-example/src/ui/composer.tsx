/** A message to the agent: it begins a newer turn, and says so where that replaces a question. */
import { useState, type KeyboardEvent, type ReactNode } from 'react';
import { createKeys, prompt, type Sent } from '../api/respond';
import { isCoarse, useApp } from './context';
import { t } from './strings';

const TROUBLE: Record<Exclude<Sent, 'sent'>, string> = {
  failed: t.promptFailed, unknown: t.promptUnknown, busy: t.promptBusy, refused: t.promptRefused, lost: t.promptLost,
};

interface Props {
  readonly sessionId: string;
  readonly replaces: boolean;
  readonly text: string;
  readonly onText: (text: string) => void;
}

export function Composer({ sessionId, replaces, text, onText }: Props): ReactNode {
  const { api, mayAnswer } = useApp();
  const [isBusy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<Exclude<Sent, 'sent'> | null>(null);
  const [keys] = useState(createKeys);
  const isReady = text.trim() !== '' && !isBusy && mayAnswer;
  const send = async (): Promise<void> => {
    if (!isReady) return;
    setBusy(true);
    setTrouble(null);
    const sent = await prompt(api, sessionId, text.trim(), keys);
    setBusy(false);
    if (sent === 'sent') onText('');
    else setTrouble(sent);
  };
  const keyed = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.nativeEvent.isComposing || event.repeat) return;
    const isSent = event.ctrlKey || event.metaKey || (!event.shiftKey && !event.altKey && !isCoarse() && !replaces);
    if (!isSent) return;
    event.preventDefault();
    void send();
  };
  return (
    <form className="composer" onSubmit={(event) => { event.preventDefault(); void send(); }}>
      <div className="composer-row">
        <textarea rows={1} aria-label={t.composer} placeholder={t.composerHint} value={text} readOnly={isBusy} aria-describedby={replaces ? 'replaces' : undefined} onChange={(event) => onText(event.target.value)} onKeyDown={keyed} />
        <button type="submit" className={replaces ? 'secondary' : 'primary'} aria-disabled={!isReady}>{isBusy ? t.sending : replaces && text.trim() !== '' ? t.sendAnyway : t.send}</button>
      </div>
      {replaces && text.trim() !== '' && <p id="replaces" className="hint">{t.composerReplaces}</p>}
      {trouble && <p role="alert" className="alert">{TROUBLE[trouble]}</p>}
    </form>
  );
}
