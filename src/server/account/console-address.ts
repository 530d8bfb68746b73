import type { App } from '../app.ts'
import { withoutTrailing } from '../../contract/text.ts'

/**
 * Address of a console page for a mail. Never from the call's own headers, which whoever asks for a
 * mail to somebody else's mailbox may choose.
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
