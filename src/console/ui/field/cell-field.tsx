import { type KeyboardEvent, useRef, useState } from 'react'
import { wholeNumber } from './whole-number.ts'
import styles from './cell-field.module.css'

interface CellNumberProps {
  label: string
  value: number
  /** Called with another whole number than the present one; a rejection puts that one back. */
  onCommit: (value: number) => Promise<void>
  /** Called when what was typed is no whole number; the present one comes back. */
  onWrong: () => void
}

/**
 * A whole number that is edited in its row: Enter or leaving saves, Escape puts the old one back.
 * Nothing is not saved, nor what is no number, which is said.
 */
export function CellNumber({ label, value, onCommit, onWrong }: CellNumberProps) {
  const [text, setText] = useState(String(value))
  const [isBusy, setIsBusy] = useState(false)
  const [seen, setSeen] = useState(value)
  const isGivenUp = useRef(false)
  if (value !== seen) {
    setSeen(value)
    setText(String(value))
  }

  async function commit() {
    const typed = text.trim()
    const number = wholeNumber(typed)
    const next = number !== null && !isGivenUp.current ? number : value
    if (number === null && typed !== '' && !isGivenUp.current) onWrong()
    isGivenUp.current = false
    setText(String(next))
    if (next === value) return
    setIsBusy(true)
    try {
      await onCommit(next)
    } catch {
      setText(String(value))
    } finally {
      setIsBusy(false)
    }
  }
  function onKeyDown(event: KeyboardEvent<HTMLInputElement>) {
    if (event.key !== 'Enter' && event.key !== 'Escape') return
    isGivenUp.current = event.key === 'Escape'
    event.currentTarget.blur()
  }
  return (
    <input
      className={styles['number']}
      aria-label={label}
      aria-busy={isBusy}
      // No keypad of digits: on a phone it has no minus.
      autoComplete="off"
      value={text}
      readOnly={isBusy}
      onChange={(event) => setText(event.currentTarget.value)}
      onFocus={(event) => event.currentTarget.select()}
      onBlur={() => void commit()}
      onKeyDown={onKeyDown}
    />
  )
}

interface CellChoiceProps {
  label: string
  value: string
  options: readonly string[]
  onCommit: (value: string) => Promise<void>
}

/** One of several names, chosen in its row; a rejection leaves the old one. */
export function CellChoice({ label, value, options, onCommit }: CellChoiceProps) {
  const [isBusy, setIsBusy] = useState(false)
  async function commit(next: string) {
    setIsBusy(true)
    try {
      await onCommit(next)
    } catch {
      // Who was asked has said why; the row still shows the old name.
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <select
      className={styles['choice']}
      aria-label={label}
      aria-busy={isBusy}
      title={value}
      value={value}
      onChange={(event) => void commit(event.currentTarget.value)}
    >
      {options.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  )
}
