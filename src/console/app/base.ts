import { withoutTrailing } from '../../contract/text.ts'

/**
 * Path under which the console is served (`/` or `/sub/path/`), from the `<base>` that the server
 * wrote.
 */
export const basePath = (): string => new URL(document.baseURI).pathname

const withoutSlash = (address: string): string => withoutTrailing(address, '/')

/** Address before `/api` and `/v1`: `VITE_API_BASE` of the build, else the path of the console. */
export const apiBase = (): string =>
  withoutSlash(import.meta.env.VITE_API_BASE || new URL(document.baseURI).pathname)

/** The API's absolute address, for users to copy into their programs. */
export const publicBase = (configured: string): string =>
  withoutSlash(configured) || withoutSlash(new URL(apiBase() || '/', location.origin).href)
