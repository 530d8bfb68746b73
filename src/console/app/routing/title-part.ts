import { createContext, use, useEffect } from 'react'

/** Takes what stands before the page's own title in the window's. */
export const TitlePartContext = createContext<(part: string) => void>(() => {})

/** Tells windows, bookmarks and history entries of one page apart, while the caller is shown. */
export function useTitlePart(part: string): void {
  const setPart = use(TitlePartContext)
  useEffect(() => {
    setPart(part)
    return () => setPart('')
  }, [setPart, part])
}
