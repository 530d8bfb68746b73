import { type ComponentType, lazy, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { loadMissingSheets, MISSING_FILE } from '../routing/missing-files.ts'
import { toast } from '../toast.ts'

const Nothing = () => null

/**
 * A part of the frame that loads later. If it cannot be loaded (the net is gone, or a new version
 * has replaced its file) the page around it stays usable without it, or with another in its place.
 */
export function lazyPart<Props>(
  load: () => Promise<ComponentType<Props>>,
  // Showing nothing needs no properties.
  instead = Nothing as ComponentType<Props>,
) {
  return lazy(async () => {
    try {
      return { default: await load() }
    } catch {
      return { default: instead }
    }
  })
}

interface LatePart<Props> {
  /** Undefined until it is asked for, and when it is closed. */
  Part: ComponentType<Props> | undefined
  open: () => Promise<void>
  close: () => void
}

/**
 * A part of a page that is loaded when it is asked for. Where its file is missing a toast says so:
 * the page, and what was typed in it, stays.
 */
export function useLatePart<Props>(load: () => Promise<ComponentType<Props>>): LatePart<Props> {
  const { t } = useTranslation()
  const [Part, setPart] = useState<ComponentType<Props>>()
  const open = async () => {
    try {
      await loadMissingSheets()
      const loaded = await load()
      setPart(() => loaded)
    } catch {
      toast.error(t(MISSING_FILE))
    }
  }
  return { Part, open, close: () => setPart(undefined) }
}
