import type { App } from '../app.ts'
import { withoutTrailing } from '../../contract/text.ts'

/**
 * Returns the address of a console page for a mail. Never derived from the request's headers, which
 * the person who requests a mail to another mailbox controls.
 */
export function consoleAddress(
  { options, config }: Pick<App, 'options' | 'config'>,
  page: string,
  query: Record<string, string> = {},
): string {
  const base =
    withoutTrailing(options.text('ServerAddress'), '/') ||
    `http://localhost:${config.PORT}${config.BASE_PATH.replace(/\/$/, '')}`
  const search = new URLSearchParams(query).toString()
  return `${base}${page}${search === '' ? '' : `?${search}`}`
}
