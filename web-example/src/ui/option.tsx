/** One choice of a question, as a native input. */
import { memo, type ReactNode } from 'react';
import { t } from './strings';

/** A convention of agents: a label that ends so names what they would choose. It is never chosen beforehand. */
const RECOMMENDED = /\s*\(recommended\)\s*$/i;

interface Props {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly place: number;
  readonly group: string;
  readonly isMany: boolean;
  readonly isChosen: boolean;
  readonly isReadOnly: boolean;
  readonly onPick: (optionId: string) => void;
  /** Chosen by a pointer, where one choice is all. */
  readonly onPointer: (optionId: string) => void;
}

/**
 * Drawn again only where something of it changed: whenever React draws a radio button it takes its name away for a
 * moment, and a browser whose focus is on one then counts the others of the group as steps of the Tab key.
 */
export const Option = memo(function Option(props: Props): ReactNode {
  const { id, label, description, place, group, isMany, isChosen, isReadOnly, onPick, onPointer } = props;
  const describedBy = description ? `${group}-${place}` : undefined;
  return (
    <label className={isChosen ? 'option chosen' : 'option'}>
      <input
        type={isMany ? 'checkbox' : 'radio'}
        name={group}
        checked={isChosen}
        disabled={isReadOnly}
        aria-describedby={describedBy}
        onChange={() => onPick(id)}
        // Arrow keys choose too, and must not run ahead: only a pointer's click has a count.
        onClick={(event) => !isMany && event.detail > 0 && onPointer(id)}
      />
      <span className="option-text">
        <span className="option-label">{label.replace(RECOMMENDED, '')}{RECOMMENDED.test(label) && <span className="chip">{t.recommended}</span>}</span>
        {description && <span id={describedBy} className="option-description">{description}</span>}
      </span>
      <kbd aria-hidden="true">{place + 1}</kbd>
    </label>
  );
});
