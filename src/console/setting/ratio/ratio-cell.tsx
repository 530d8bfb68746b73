import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import styles from './ratio.module.css'

interface RatioCellProps {
  label: string
  value: string
  /** Shown while the field is empty. */
  placeholder?: string
  /** Applies the input; returns false if it is invalid, which restores the old value. */
  onCommit: (text: string) => boolean
}

/**
 * A figure that is edited in its row. Enter or leaving the field commits, Escape restores the old
 * value. Input in a row that scrolls out of view is committed too.
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
    // Enter must not submit the surrounding form.
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
