import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import styles from './ratio.module.css'

interface RatioCellProps {
  label: string
  value: string
  /** Shown while the field is empty. */
  placeholder?: string
  /** Takes what was typed; false: it cannot, and the old value comes back. */
  onCommit: (text: string) => boolean
}

/**
 * A figure that is edited in its row: Enter or leaving takes it, Escape puts the old one back. What
 * was typed into a row that scrolls out of view is taken too.
 */
export function RatioCell({ label, value, placeholder, onCommit }: RatioCellProps) {
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  if (value !== seen) {
    setSeen(value)
    setText(value)
  }
  function commit() {
    if (text.trim() !== value && !onCommit(text.trim())) setText(value)
  }
  const atLast = useRef(commit)
  useEffect(() => {
    atLast.current = commit
  })
  useEffect(() => () => atLast.current(), [])
  function onKeyDown(event: KeyboardEvent<HTMLInputElement>) {
    if (event.key === 'Escape') setText(value)
    if (event.key !== 'Enter') return
    // The form around it must not be sent by a figure.
    event.preventDefault()
    commit()
  }
  return (
    <input
      className={styles['cell']}
      aria-label={label}
      inputMode="decimal"
      autoComplete="off"
      placeholder={placeholder}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onFocus={(event) => event.currentTarget.select()}
      onBlur={commit}
      onKeyDown={onKeyDown}
    />
  )
}
