/** What stands below the transcript: what became of the last question, the one that waits, and the composer. */
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import type { Bundle } from '../api/documents';
import type { Outcome } from '../state/panel';
import type { State } from '../state/store';
import { claimedBundle, staleBundles, visibleBundle } from '../state/views';
import { ClarificationPanel } from './clarification-panel';
import { Composer } from './composer';
import { useStore } from './context';
import { Icon } from './icons';
import { receiptId } from './receipt';
import { t } from './strings';

interface Note {
  readonly outcome: Outcome;
  readonly text: string;
  readonly pendingId: string;
}

interface Props {
  readonly sessionId: string;
  /** The bundle that is shown here and not in the transcript. */
  readonly onShown: (pendingId: string | null) => void;
  readonly onElsewhere: (pendingId: string) => void;
}

/** These are told by the receipt alone. */
const QUIET: ReadonlySet<Outcome> = new Set(['delivered', 'skipped']);

/** The bundle of the panel: the one that waits, else one that somebody answers just now. */
function docked(state: State, sessionId: string): Bundle | null {
  const visible = visibleBundle(state, sessionId);
  if (visible) return visible;
  const claimed = claimedBundle(state, sessionId);
  return claimed && !staleBundles(state, sessionId).includes(claimed.pendingId) ? claimed : null;
}

export function Dock({ sessionId, onShown, onElsewhere }: Props): ReactNode {
  const state = useStore();
  const [note, setNote] = useState<Note | null>(null);
  const [text, setText] = useState('');
  // Bundles that were shown and have not yet told what became of them: they are inert until they have.
  const [held, setHeld] = useState<readonly string[]>([]);
  const told = useRef(new Set<string>());
  const [round, setRound] = useState(0);
  const bundle = docked(state, sessionId);
  const shownId = bundle?.pendingId ?? null;
  useEffect(() => {
    onShown(shownId);
    if (shownId === null) return;
    setHeld((ids) => (ids.includes(shownId) ? ids : [...ids, shownId]));
    setNote((last) => (last && last.text === '' ? null : last));
  }, [shownId, onShown]);
  const left = held.flatMap((id) => (id === shownId ? [] : (state.bundles.get(id) ?? [])));
  const closed = useCallback(
    (pendingId: string) => (outcome: Outcome, entered: string, hadFocus: boolean) => {
      told.current.add(pendingId);
      setHeld((ids) => ids.filter((id) => id !== pendingId));
      setRound((n) => n + 1);
      if (outcome === 'elsewhere') onElsewhere(pendingId);
      setNote(QUIET.has(outcome) ? null : { outcome, text: entered, pendingId });
      if (hadFocus || document.activeElement === document.body) requestAnimationFrame(() => document.getElementById(receiptId(pendingId))?.focus());
    },
    [onElsewhere],
  );
  const isReceiving = visibleBundle(state, sessionId) === undefined;
  return (
    <div className="dock">
      <div className="column">
        {note && <OutcomeNote note={note} onCopy={() => { setText((held_) => (held_ === '' ? note.text : `${held_}\n${note.text}`)); setNote(null); }} onDismiss={() => setNote(null)} />}
        {isReceiving && !bundle && <p className="panel bar" role="status"><Icon name="question" className="clarification" />{t.receiving}</p>}
        {[...left, ...(bundle ? [bundle] : [])].map((each) => (
          <ClarificationPanel
            // One that was given back after it was over begins anew.
            key={`${each.pendingId}-${told.current.has(each.pendingId) ? round : 0}`}
            bundle={each}
            isLeft={each.pendingId !== shownId}
            onClosed={closed(each.pendingId)}
          />
        ))}
        <Composer sessionId={sessionId} replaces={bundle !== null} text={text} onText={setText} />
      </div>
    </div>
  );
}

function OutcomeNote({ note, onCopy, onDismiss }: { readonly note: Note; readonly onCopy: () => void; readonly onDismiss: () => void }): ReactNode {
  const isSerious = note.outcome === 'unknown';
  return (
    <section className={isSerious ? 'outcome serious' : 'outcome'} role={isSerious ? 'alert' : undefined} data-outcome={note.outcome}>
      <p>{t.outcome[note.outcome]}</p>
      {note.text !== '' && (
        <details>
          <summary>{t.yourText}</summary>
          <p className="plain">{note.text}</p>
        </details>
      )}
      <div className="outcome-actions">
        {note.text !== '' && <button type="button" className="secondary" onClick={onCopy}>{t.copyToComposer}</button>}
        <button type="button" className="quiet" onClick={onDismiss}>{t.dismiss}</button>
      </div>
    </section>
  );
}
