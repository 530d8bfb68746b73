import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, Popover } from '@mantine/core'
import type { ReactElement, ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import styles from './option.module.css'

interface AskedProps {
  isAsking: boolean
  onClose: () => void
  /** Consequence of confirming. */
  question: ReactNode
  /** Label of the confirming button. */
  label: string
  onConfirm: () => void
  position: 'bottom-start' | 'top-end'
  /** Anchor of the confirmation; accepts a `ref`. */
  children: ReactElement
}

/** A confirmation beside an element; the focus moves to the button that cancels. */
export function Asked(props: AskedProps) {
  const { isAsking, onClose, question, label, onConfirm, position, children } = props
  const { t } = useTranslation()
  return (
    // Without roles, which would turn the anchor into a button.
    <Popover
      opened={isAsking}
      onChange={onClose}
      position={position}
      withRoles={false}
      trapFocus
      returnFocus
    >
      <Popover.Target>{children}</Popover.Target>
      <Popover.Dropdown
        className={styles['question'] ?? ''}
        // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- the widget's own element
        role="dialog"
        aria-label={label}
      >
        {question}
        <div className={styles['answers']}>
          <Button size="xs" variant="default" data-autofocus onClick={onClose}>
            {t('取消')}
          </Button>
          <Button size="xs" color="red" onClick={onConfirm}>
            {label}
          </Button>
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
