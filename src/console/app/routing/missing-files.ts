import { mark } from '../i18n.ts'

/** Shown instead of a part whose file could not be loaded. */
export const MISSING_FILE = mark('加载失败，可能是网络中断，或服务器已更新到新版本，请刷新页面')

/** Errors that came of a file that could not be loaded. */
const known = new WeakSet<object>()

/** Style sheets that did not come. */
const failed: HTMLLinkElement[] = []
let onTheirWay: Promise<unknown> = Promise.resolve()

/** Whether an error means that a file of the console is missing: no net, or another version. */
export const isMissingFile = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && known.has(error)

/** To be called once, before anything is loaded on demand. */
export function watchFiles(): void {
  window.addEventListener('vite:preloadError', ({ payload }) => known.add(payload))
  document.addEventListener(
    'error',
    ({ target }) => {
      if (!(target instanceof HTMLLinkElement) || target.rel !== 'stylesheet') return
      target.remove()
      failed.push(target)
    },
    true,
  )
}

/** Ends with or without it. */
const loadAgain = (link: HTMLLinkElement) =>
  new Promise<void>((resolve) => {
    const { rel, href, crossOrigin, nonce } = link
    const again = Object.assign(document.createElement('link'), { rel, href, crossOrigin, nonce })
    again.addEventListener('load', () => resolve())
    again.addEventListener('error', () => resolve())
    document.head.append(again)
  })

/**
 * Loads the style sheets that did not come. What asks for files on demand asks for a script again
 * and for a sheet never, so that a page could come without its looks.
 */
export function loadMissingSheets(): Promise<unknown> {
  onTheirWay = Promise.all([onTheirWay, ...failed.splice(0).map(loadAgain)])
  return onTheirWay
}
