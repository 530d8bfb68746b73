import { useLayoutEffect } from 'react'

let drawn = 0

/**
 * Marks the document while something that stands for what is on its way is drawn: what follows it
 * would jump, and waits unseen. Not by `:has()`, which Chromium does not always look at again when
 * the last of them goes.
 */
export function useOnItsWay(): void {
  useLayoutEffect(() => {
    const root = document.documentElement
    drawn += 1
    root.dataset['waiting'] = ''
    return () => {
      drawn -= 1
      if (drawn === 0) delete root.dataset['waiting']
    }
  }, [])
}
