import { createContext, use, useEffect } from 'react'

/** Ids of the groups of a tab that hold edits; leaving the tab asks once for all of them. */
export const UnsavedGroups = createContext<Set<string>>(new Set())

/** Says of a group whether leaving would lose something. */
export function useUnsaved(group: string, isUnsaved: boolean): void {
  const unsaved = use(UnsavedGroups)
  useEffect(() => {
    if (!isUnsaved) return
    unsaved.add(group)
    return () => {
      unsaved.delete(group)
    }
  }, [unsaved, group, isUnsaved])
}
