import { useState } from 'react'
import type { Words } from '../../../contract/channel-type-row.ts'
import { localText } from '../../app/i18n.ts'
import type { RowField } from '../../ui/field/row-field.tsx'
import { Toggle } from '../../ui/toggle.tsx'
import { Asked } from './asked.tsx'

interface ConfirmedToggleProps {
  field: RowField
  isOn: boolean
  onChange: (isOn: boolean) => void
  /** Confirmation before turning off, and the label of its button. */
  confirm: { question: Words; label: Words }
}

/** A switch with a confirmation before it is turned off. */
export function ConfirmedToggle({ field, isOn, onChange, confirm }: ConfirmedToggleProps) {
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Asked
      isAsking={isAsking}
      onClose={() => setIsAsking(false)}
      question={<p>{localText(confirm.question)}</p>}
      label={localText(confirm.label)}
      onConfirm={() => {
        setIsAsking(false)
        onChange(false)
      }}
      position="bottom-start"
    >
      <div>
        <Toggle
          field={field}
          isOn={isOn}
          onChange={(next) => (next ? onChange(true) : setIsAsking(true))}
        />
      </div>
    </Asked>
  )
}
