import { createContext, use, useEffect } from 'react'

/** Sets the text before the page title in the window title. */
export const TitlePartContext = createContext<(part: string) => void>(() => {})

/** Distinguishes windows, bookmarks and history entries of one page while the caller is mounted. */
export function useTitlePart(part: string): void {
  const setPart = use(TitlePartContext)
  useEffect(() => {
    setPart(part)
    return () => setPart('')
  }, [setPart, part])
}
