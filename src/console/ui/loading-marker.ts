import { useLayoutEffect } from 'react'

let drawn = 0

/**
 * Marks the document while a loading placeholder is mounted: content below it would jump, and is
 * hidden until then. A `:has()` rule is not enough, because Chromium does not always re-evaluate it
 * when the last placeholder is removed.
 */
export function useLoadingMarker(): void {
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
