import { createContext } from 'react'

/** Called for each failed action on a row, which may have changed or be deleted. */
export const FailedAct = createContext<((error: unknown) => void) | undefined>(undefined)
