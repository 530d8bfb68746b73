import { type ChangeEvent, useEffect, useRef } from 'react'
import styles from './check-box.module.css'

interface CheckBoxProps {
  /** Needed if no surrounding label describes the box. */
  label?: string
  isOn: boolean
  /** Indeterminate: some but not all of the items are on. */
  isPart?: boolean
  onChange: (isOn: boolean, event: ChangeEvent<HTMLInputElement>) => void
}

/** A checkbox. Its container makes it large enough for touch. */
export function CheckBox({ label, isOn, isPart = false, onChange }: CheckBoxProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (input.current !== null) input.current.indeterminate = isPart
  }, [isPart])
  return (
    <input
      ref={input}
      type="checkbox"
      className={styles['box']}
      aria-label={label}
      checked={isOn}
      onChange={(event) => onChange(event.currentTarget.checked, event)}
    />
  )
}
