import '@mantine/core/styles/InlineInput.layer.css'
import '@mantine/core/styles/Switch.layer.css'
import { Switch } from '@mantine/core'
import styles from './form.module.css'

interface ToggleProps {
  /** Ties it to the label of its row. */
  id?: string
  /** Beside the switch, where the row has no label that says it. */
  label?: string
  isOn: boolean
  onChange: (isOn: boolean) => void
}

export function Toggle({ id, label, isOn, onChange }: ToggleProps) {
  return (
    <Switch
      {...(id === undefined ? {} : { id })}
      label={label}
      checked={isOn}
      onChange={(event) => onChange(event.currentTarget.checked)}
      withThumbIndicator={false}
      classNames={{ track: styles['track'] ?? '', label: styles['trackLabel'] ?? '' }}
    />
  )
}
