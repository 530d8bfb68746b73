import { type ChangeEvent, useEffect, useRef } from 'react'
import styles from './check-box.module.css'

interface CheckBoxProps {
  /** Where no label around it says what it is for. */
  label?: string
  isOn: boolean
  /** Some of what it stands for is on, but not all. */
  isPart?: boolean
  onChange: (isOn: boolean, event: ChangeEvent<HTMLInputElement>) => void
}

/** A box to tick. What is around it makes it large enough for a finger. */
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
