import { createContext, use, useEffect } from 'react'

/** Ids of a tab's groups with edits; leaving the tab asks once for all of them. */
export const UnsavedGroups = createContext<Set<string>>(new Set())

/** Registers whether a group has unsaved edits. */
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
