import { useSyncExternalStore } from 'react'

/** Dialogs that are open, the topmost last. */
let open: readonly HTMLDialogElement[] = []
const listeners = new Set<() => void>()

function setOpen(dialogs: readonly HTMLDialogElement[]) {
  open = dialogs
  for (const listener of listeners) listener()
}

/** Makes a dialog the topmost one until the returned function is called. */
export function putOnTop(dialog: HTMLDialogElement): () => void {
  setOpen([...open, dialog])
  return () => setOpen(open.filter((other) => other !== dialog))
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The dialog that everything else on the page lies behind; null if none is open. */
export const useTopDialog = (): HTMLDialogElement | null =>
  useSyncExternalStore(subscribe, () => open.at(-1) ?? null)
