import { createContext } from 'react'

/** Told of each act on a row that failed: the row may not be what it seems, or not be there. */
export const FailedAct = createContext<((error: unknown) => void) | undefined>(undefined)
