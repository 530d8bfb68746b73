import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, Popover } from '@mantine/core'
import type { ReactNode } from 'react'
import styles from './task-popover.module.css'

interface TaskPopoverProps {
  label: string
  /** On the button in place of the label. */
  buttonText?: string
  /** What it does cannot be undone. */
  isHarmful?: boolean
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
  children: ReactNode
  /** How far it is; empty: it is not under way. */
  progress: string
  /** The buttons that end it. */
  answers: ReactNode
}

/** A button with a small task beside it, which asks a little before it begins. */
export function TaskPopover(props: TaskPopoverProps) {
  const { label, buttonText = label, isHarmful = false, isOpen, onOpen } = props
  return (
    <Popover opened={isOpen} onChange={onOpen} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Button
          variant="default"
          data-harm={isHarmful || undefined}
          className={isHarmful ? (styles['harm'] ?? '') : ''}
          aria-expanded={isOpen}
          onClick={() => onOpen(!isOpen)}
        >
          {buttonText}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={styles['task'] ?? ''} aria-label={label}>
        {props.children}
        <div className={styles['answers']}>
          <span className={styles['progress']} aria-live="polite">
            {props.progress}
          </span>
          {props.answers}
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
