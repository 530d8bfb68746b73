import '@mantine/core/styles/InlineInput.layer.css'
import '@mantine/core/styles/Switch.layer.css'
import { Switch } from '@mantine/core'
import type { RowField } from './field/row-field.tsx'
import styles from './form.module.css'

interface ToggleProps {
  /** Field of the row whose label describes the switch. */
  field?: RowField
  /** Label beside the switch, if the row's label does not describe it. */
  label?: string
  isOn: boolean
  onChange: (isOn: boolean) => void
}

export function Toggle({ field, label, isOn, onChange }: ToggleProps) {
  const control = (
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
  return field === undefined ? control : <div className={styles['switch']}>{control}</div>
}
