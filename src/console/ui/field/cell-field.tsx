import { type KeyboardEvent, use, useRef, useState } from 'react'
import { FailedAct } from '../table/failed-act.ts'
import { wholeNumber } from './whole-number.ts'
import styles from './cell-field.module.css'

interface CellNumberProps {
  label: string
  value: number
  /** Called with a new integer; a rejection restores the old value. */
  onCommit: (value: number) => Promise<void>
  /** Called if the text is not an integer; the old value is restored. */
  onWrong: () => void
}

/**
 * An integer that is edited in its row. Enter or leaving the field saves, Escape restores the old
 * value. Empty or invalid text is not saved; invalid text is reported.
 */
export function CellNumber({ label, value, onCommit, onWrong }: CellNumberProps) {
  const [text, setText] = useState(String(value))
  const [isBusy, setIsBusy] = useState(false)
  const [seen, setSeen] = useState(value)
  const isGivenUp = useRef(false)
  const tellFailure = use(FailedAct)
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
    } catch (error) {
      setText(String(value))
      tellFailure?.(error)
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
      // No numeric keypad: on phones it lacks the minus sign.
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

/**
 * A choice in a row; a rejection restores the old value. A value chosen while another is being
 * saved is saved afterwards, so that the last one wins.
 */
export function CellChoice({ label, value, options, onCommit }: CellChoiceProps) {
  const [chosen, setChosen] = useState<string | null>(null)
  const waiting = useRef<string | null>(null)
  const tellFailure = use(FailedAct)
  const isBusy = chosen !== null
  async function commit(first: string) {
    let next: string | null = first
    while (next !== null) {
      waiting.current = null
      try {
        await onCommit(next)
      } catch (error) {
        // The failed request has already been reported.
        tellFailure?.(error)
      }
      next = waiting.current
    }
    setChosen(null)
  }
  function choose(next: string) {
    setChosen(next)
    if (isBusy) waiting.current = next
    else void commit(next)
  }
  return (
    <select
      className={styles['choice']}
      aria-label={label}
      aria-busy={isBusy}
      title={value}
      value={chosen ?? value}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {options.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  )
}
