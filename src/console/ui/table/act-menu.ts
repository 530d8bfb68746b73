import { createContext, type RefObject } from 'react'

/** The menu that contains a row's action. */
export interface ActMenu {
  close: () => void
  /** The button in the row that opens the menu. */
  button: RefObject<HTMLElement | null>
}

/** Undefined if the action is in the row itself. */
export const ActMenuAround = createContext<ActMenu | undefined>(undefined)
