import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { RowField } from '../../ui/field/row-field.tsx'
import { Toggle } from '../../ui/toggle.tsx'
import { Asked } from './asked.tsx'
import styles from './option.module.css'

interface ConfirmedToggleProps {
  field: RowField
  isOn: boolean
  onChange: (isOn: boolean) => void
  /** What turning off does, and the word on the button that does it; both to be translated. */
  confirm: { question: string; label: string }
}

/** A switch that asks before it is turned off. */
export function ConfirmedToggle({ field, isOn, onChange, confirm }: ConfirmedToggleProps) {
  const { t } = useTranslation()
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Asked
      isAsking={isAsking}
      onClose={() => setIsAsking(false)}
      question={<p>{t(confirm.question)}</p>}
      label={t(confirm.label)}
      onConfirm={() => {
        setIsAsking(false)
        onChange(false)
      }}
      position="bottom-start"
    >
      <div className={styles['toggle']}>
        <Toggle
          field={field}
          isOn={isOn}
          onChange={(next) => (next ? onChange(true) : setIsAsking(true))}
        />
      </div>
    </Asked>
  )
}
