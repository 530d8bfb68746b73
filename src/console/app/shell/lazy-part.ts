import { type ComponentType, lazy } from 'react'

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
