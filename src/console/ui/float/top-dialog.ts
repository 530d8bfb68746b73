import { useSyncExternalStore } from 'react'

/** Open dialogs, the topmost last. */
let open: readonly HTMLDialogElement[] = []
const listeners = new Set<() => void>()

function setOpen(dialogs: readonly HTMLDialogElement[]) {
  open = dialogs
  for (const listener of listeners) listener()
}

/** Registers a dialog as the topmost one until the returned function is called. */
export function putOnTop(dialog: HTMLDialogElement): () => void {
  setOpen([...open, dialog])
  return () => setOpen(open.filter((other) => other !== dialog))
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The topmost dialog; null if none is open. */
export const useTopDialog = (): HTMLDialogElement | null =>
  useSyncExternalStore(subscribe, () => open.at(-1) ?? null)
