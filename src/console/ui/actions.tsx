import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, type ButtonProps, Popover } from '@mantine/core'
import { type ReactNode, use, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { BusyButton } from './busy/busy-button.tsx'
import { ActMenuAround } from './table/act-menu.ts'
import { FailedAct } from './table/failed-act.ts'
import { useFocusAfter } from './table/focus-after.ts'
import styles from './actions.module.css'

type Work = () => void | Promise<void>

/** Runs work and tracks whether it is running. A failed request has already been reported. */
function useBusy(work: Work): [isBusy: boolean, run: () => Promise<boolean>] {
  const [isBusy, setIsBusy] = useState(false)
  const tellFailure = use(FailedAct)
  return [
    isBusy,
    async () => {
      setIsBusy(true)
      try {
        await work()
        return true
      } catch (error) {
        tellFailure?.(error)
        return false
      } finally {
        setIsBusy(false)
      }
    },
  ]
}

interface ActionProps {
  label: string
  onClick: Work
  /** Reason why the action is unavailable: the button is disabled and shows it. */
  why?: string
  size?: NonNullable<ButtonProps['size']>
}

/** A button that stays busy until its work is done. */
export function Action({ label, onClick, why, size = 'xs', other }: ActionProps & OtherLabel) {
  const [isBusy, run] = useBusy(onClick)
  const button = useRef<HTMLButtonElement>(null)
  const menu = use(ActMenuAround)
  const keepPlace = useFocusAfter(menu?.button ?? button)
  function press() {
    // If another user has deleted the row, the reload after the failure removes it.
    keepPlace()
    void run().then(() => menu?.close())
  }
  return (
    <BusyButton
      ref={button}
      size={size}
      variant="default"
      title={why}
      isBusy={isBusy}
      isIdle={why !== undefined}
      onClick={press}
    >
      {other === undefined ? (
        label
      ) : (
        <span className={styles['either']} data-other={other}>
          {label}
        </span>
      )}
    </BusyButton>
  )
}

interface OtherLabel {
  /** The other label of the button: it reserves space for the longer one, so that nothing moves. */
  other?: string
}

/** A button that disables an enabled item and enables a disabled one. */
export function ToggleAction({ isOn, ...action }: Omit<ActionProps, 'label'> & { isOn: boolean }) {
  const { t } = useTranslation()
  const words = [t('禁用'), t('启用')] as const
  const [label, other] = isOn ? words : [words[1], words[0]]
  return <Action {...action} label={label} other={other} />
}

interface ConfirmActionProps extends ActionProps {
  /** Confirmation question. */
  question: ReactNode
  /** Label of the confirming button. */
  confirmLabel: string
  /** Not destructive: the action costs something or grants a permission. */
  isHarmless?: boolean
}

/** An action with a confirmation beside its button, which closes when done. */
export function ConfirmAction(props: ConfirmActionProps) {
  const { label, onClick, why, question, confirmLabel, isHarmless = false, size = 'xs' } = props
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const [isBusy, run] = useBusy(onClick)
  const button = useRef<HTMLButtonElement>(null)
  const menu = use(ActMenuAround)
  const keepPlace = useFocusAfter(menu?.button ?? button)
  function confirm() {
    keepPlace()
    void run().then((isDone) => {
      setIsOpen(!isDone)
      if (isDone) menu?.close()
    })
  }
  return (
    <Popover
      // Another user may have done it meanwhile.
      opened={isOpen && why === undefined}
      onChange={setIsOpen}
      position="bottom-end"
      // In a portal, a click would close the surrounding menu.
      withinPortal={menu === undefined}
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <BusyButton
          ref={button}
          size={size}
          variant="default"
          isBusy={false}
          {...(isHarmless ? {} : { 'data-harm': true, className: styles['harm'] ?? '' })}
          title={why}
          isIdle={why !== undefined}
          onClick={() => setIsOpen(!isOpen)}
        >
          {label}
        </BusyButton>
      </Popover.Target>
      <Popover.Dropdown className={styles['question'] ?? ''} aria-label={label}>
        <p>{question}</p>
        <div className={styles['answers']}>
          <Button size="xs" variant="default" onClick={() => setIsOpen(false)}>
            {t('取消')}
          </Button>
          <BusyButton
            size="xs"
            {...(isHarmless ? {} : { color: 'red' })}
            data-autofocus
            isBusy={isBusy}
            onClick={confirm}
          >
            {confirmLabel}
          </BusyButton>
        </div>
      </Popover.Dropdown>
    </Popover>
  )
}
