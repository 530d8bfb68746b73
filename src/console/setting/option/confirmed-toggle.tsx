import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, Popover } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { RowField } from '../../ui/field/row-field.tsx'
import { Toggle } from '../../ui/toggle.tsx'
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
    // Roles would make a button of what holds the switch.
    <Popover
      opened={isAsking}
      onChange={setIsAsking}
      position="bottom-start"
      withRoles={false}
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <div className={styles['toggle']}>
          <Toggle
            field={field}
            isOn={isOn}
            onChange={(next) => (next ? onChange(true) : setIsAsking(true))}
          />
        </div>
      </Popover.Target>
      <Popover.Dropdown
        className={styles['question'] ?? ''}
        // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- the widget's own element
        role="dialog"
        aria-label={t(confirm.label)}
      >
        <p>{t(confirm.question)}</p>
        <div className={styles['answers']}>
          <Button size="xs" variant="default" data-autofocus onClick={() => setIsAsking(false)}>
            {t('取消')}
          </Button>
          <Button
            size="xs"
            color="red"
            onClick={() => {
              setIsAsking(false)
              onChange(false)
            }}
          >
            {t(confirm.label)}
          </Button>
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
