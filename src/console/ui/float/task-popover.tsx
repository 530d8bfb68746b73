import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, Popover } from '@mantine/core'
import type { ReactNode } from 'react'
import styles from './task-popover.module.css'

interface TaskPopoverProps {
  label: string
  /** Text on the button, if it differs from the label. */
  buttonText?: string
  /** The task cannot be undone. */
  isHarmful?: boolean
  isOpen: boolean
  onOpen: (isOpen: boolean) => void
  children: ReactNode
  /** Progress text; empty if the task is not running. */
  progress: string
  /** The buttons that start or cancel the task. */
  answers: ReactNode
}

/** A button that opens a small form for a task. */
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
