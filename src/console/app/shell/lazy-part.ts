import { type ComponentType, lazy, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { loadMissingSheets, MISSING_FILE } from '../routing/missing-files.ts'
import { toast } from '../toast.ts'

const Nothing = () => null

/**
 * A part of the layout that is loaded lazily. If loading fails (no network, or replaced by a new
 * version), the page stays usable without it, or with `instead`.
 */
export function lazyPart<Props>(
  load: () => Promise<ComponentType<Props>>,
  // A component that renders nothing accepts any properties.
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
  /** Undefined before it is opened and after it is closed. */
  Part: ComponentType<Props> | undefined
  open: () => Promise<void>
  close: () => void
}

/**
 * A part of a page that is loaded on demand. If its file is missing, a toast reports it, and the
 * page with its input stays.
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
