import styles from './choice-buttons.module.css'

export interface ChoiceButton {
  label: string
  isChosen: boolean
  onChoose: () => void
}

/** A row of a few exclusive choices, of which at most one is active. */
export function ChoiceButtons({
  label,
  choices,
}: {
  label: string
  choices: readonly ChoiceButton[]
}) {
  return (
    <fieldset className={styles['choices']} aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.label}
          type="button"
          aria-pressed={choice.isChosen}
          onClick={choice.onChoose}
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  )
}
