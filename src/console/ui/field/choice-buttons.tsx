import styles from './choice-buttons.module.css'

export interface ChoiceButton {
  label: string
  isChosen: boolean
  onChoose: () => void
}

/** A few choices side by side, one of them or none in force. */
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
