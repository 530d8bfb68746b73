import { withoutTrailing } from '../../contract/text.ts'

/** Where the console is served (`/` or `/sub/path/`), as the server wrote it into `<base>`. */
export const basePath = (): string => new URL(document.baseURI).pathname

const withoutSlash = (address: string): string => withoutTrailing(address, '/')

/** Address in front of `/api` and `/v1`: the build's own choice, else beside the console. */
export const apiBase = (): string =>
  withoutSlash(import.meta.env.VITE_API_BASE || new URL(document.baseURI).pathname)

/** The same as an absolute address, for people to copy into their programs. */
export const publicBase = (configured: string): string =>
  withoutSlash(configured) || withoutSlash(new URL(apiBase() || '/', location.origin).href)
