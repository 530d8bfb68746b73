import { mark } from '../i18n.ts'

/** Shown instead of a part whose file could not be loaded. */
export const MISSING_FILE = mark('加载失败，可能是网络中断，或服务器已更新到新版本，请刷新页面')

/** Errors caused by a file that could not be loaded. */
const known = new WeakSet<object>()

/** Style sheets that failed to load. */
const failed: HTMLLinkElement[] = []
let onTheirWay: Promise<unknown> = Promise.resolve()

/** Whether an error means that a file of the console is missing: no network, or a new version. */
export const isMissingFile = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && known.has(error)

/** Must be called once, before anything is loaded on demand. */
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

/** Resolves when the sheet has loaded or failed. */
const reloadSheet = (link: HTMLLinkElement) =>
  new Promise<void>((resolve) => {
    const { rel, href, crossOrigin, nonce } = link
    const again = Object.assign(document.createElement('link'), { rel, href, crossOrigin, nonce })
    again.addEventListener('load', () => resolve())
    again.addEventListener('error', () => resolve())
    document.head.append(again)
  })

/**
 * Reloads style sheets that failed to load. The loader retries scripts but never style sheets, so a
 * page could appear unstyled.
 */
export function loadMissingSheets(): Promise<unknown> {
  onTheirWay = Promise.all([onTheirWay, ...failed.splice(0).map(reloadSheet)])
  return onTheirWay
}
