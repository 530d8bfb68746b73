import { createContext, type RefObject } from 'react'

/** The menu that an action of a row stands in. */
export interface ActMenu {
  close: () => void
  /** What opens it, in the row. */
  button: RefObject<HTMLElement | null>
}

/** Undefined: the action stands in the row itself. */
export const ActMenuAround = createContext<ActMenu | undefined>(undefined)
