import '@mantine/core/styles/Notification.layer.css'
import '@mantine/core/styles/CloseButton.layer.css'
import '@mantine/notifications/styles.layer.css'
import { useMediaQuery } from '@mantine/hooks'
import { Notifications, notifications, notificationsStore } from '@mantine/notifications'
import { useEffect } from 'react'
import { useTopDialog } from '../../ui/float/top-dialog.ts'
import { t } from '../i18n.ts'
import { showToastsWith, type Toast, type ToastKind, toastMs } from '../toast.ts'
import styles from './shell.module.css'

const marks: Record<ToastKind, string> = {
  success: 'good',
  instruction: 'good',
  info: 'accent',
  notice: 'accent',
  warning: 'warning',
  error: 'bad',
}

/** Number of toasts raised so far. */
let raised = 0

/** Shows each text once: raising it again restarts its timer. */
function show({ kind, message, onClose }: Toast) {
  const ms = toastMs[kind]
  raised += 1
  // The widget restarts the timer only if the time differs; timers ignore fractions of a
  // millisecond.
  const autoClose = ms === false ? false : ms + raised / 1e6
  const text = typeof message === 'string' ? message.replaceAll(/\s/g, '_') : raised
  const id = `toast-${kind}-${text}`
  notifications.show({
    id,
    message,
    autoClose,
    // Errors interrupt a screen reader; other toasts wait for a pause.
    role: kind === 'error' || kind === 'warning' ? 'alert' : 'status',
    color: `var(--${marks[kind]})`,
    className: styles['toast'] ?? '',
    classNames: { body: styles['toastBody'] ?? '' },
    closeButtonProps: { 'aria-label': t('关闭') },
    ...(onClose === undefined ? {} : { onClose }),
  })
  // `show` ignores a toast that is already visible, so it is updated.
  notifications.update({ id, message, autoClose })
}

/** Submitting a form again removes the errors of the previous attempt. */
function clearTrouble() {
  for (const { id } of notificationsStore.getState().notifications) {
    if (/^toast-(?:warning|error)-/.test(id ?? '') && id !== undefined) notifications.hide(id)
  }
}

export function ToastStack() {
  const isPhone = useMediaQuery('(max-width: 600px)', undefined, { getInitialValueInEffect: false })
  const dialog = useTopDialog()
  useEffect(() => showToastsWith(show), [])
  useEffect(() => {
    document.addEventListener('submit', clearTrouble, true)
    return () => document.removeEventListener('submit', clearTrouble, true)
  }, [])
  return (
    <Notifications
      key={dialog === null ? 'page' : 'dialog'}
      // Everything outside an open dialog is inert behind it.
      portalProps={dialog === null ? {} : { target: dialog }}
      className={styles['toasts'] ?? ''}
      // At the right, they would cover row actions and the buttons of forms.
      position={isPhone === true ? 'top-center' : 'bottom-left'}
      containerWidth={380}
      // The text of a notice scrolls from there on.
      notificationMaxHeight="60dvh"
      transitionDuration={140}
      limit={6}
    />
  )
}
