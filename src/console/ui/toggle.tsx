import '@mantine/core/styles/InlineInput.layer.css'
import '@mantine/core/styles/Switch.layer.css'
import { Switch } from '@mantine/core'
import type { RowField } from './field/row-field.tsx'
import styles from './form.module.css'

interface ToggleProps {
  /** Of the row whose label says what it is for. */
  field?: RowField
  /** Beside the switch, where the row has no label that says it. */
  label?: string
  isOn: boolean
  onChange: (isOn: boolean) => void
}

export function Toggle({ field, label, isOn, onChange }: ToggleProps) {
  return (
    <Switch
      {...(field === undefined ? {} : { id: field.id })}
      aria-describedby={field?.['aria-describedby']}
      label={label}
      checked={isOn}
      onChange={(event) => onChange(event.currentTarget.checked)}
      withThumbIndicator={false}
      classNames={{ track: styles['track'] ?? '', label: styles['trackLabel'] ?? '' }}
    />
  )
}
