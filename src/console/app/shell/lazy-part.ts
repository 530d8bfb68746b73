import { type ComponentType, lazy } from 'react'

const Nothing = () => null

/**
 * A part of the frame that loads later. If it cannot be loaded (the net is gone, or a new version
 * has replaced its file) the page around it stays usable without it.
 */
export function lazyPart<Props>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => {
    try {
      return { default: await load() }
    } catch {
      // Showing nothing needs no properties.
      return { default: Nothing as ComponentType<Props> }
    }
  })
}
