import type { ReactNode } from 'react'

export type ToastKind = 'success' | 'instruction' | 'info' | 'warning' | 'error' | 'notice'

export interface Toast {
  kind: ToastKind
  message: ReactNode
  onClose?: () => void
}

/** Duration of a toast in milliseconds; a notice stays until it is closed. */
export const toastMs: Record<ToastKind, number | false> = {
  success: 1500,
  // A success with an instruction takes longer to read.
  instruction: 8000,
  info: 3000,
  error: 5000,
  warning: 10_000,
  notice: false,
}

type Show = (toast: Toast) => void

let show: Show | null = null
let waiting: Toast[] = []
let wake: (() => void) | null = null

function raise(toast: Toast) {
  if (show !== null) return show(toast)
  waiting.push(toast)
  wake?.()
}

/**
 * Registers the loader of the toast widgets, called with the first toast; until then toasts are
 * queued.
 */
export function whenFirstToast(load: () => void): void {
  wake = load
  if (waiting.length > 0) load()
}

export function showToastsWith(widget: Show): void {
  show = widget
  const early = waiting
  waiting = []
  for (const toast of early) widget(toast)
}

const raiseKind = (kind: ToastKind) => (message: ReactNode) => raise({ kind, message })

export const toast = {
  success: raiseKind('success'),
  instruction: raiseKind('instruction'),
  info: raiseKind('info'),
  warning: raiseKind('warning'),
  error: raiseKind('error'),
  /** Stays until closed; `onClose` is called when the reader closes it. */
  notice: (message: ReactNode, onClose: () => void) => raise({ kind: 'notice', message, onClose }),
}
