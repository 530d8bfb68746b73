import { isApiPath } from '../../../contract/own-api-path.ts'

/**
 * Whether an address in operator content leads to our own API, where a GET may change state with
 * the reader's session. Any scheme and port of our host counts: browsers upgrade `http:` to
 * `https:`, and cookies ignore ports.
 */
export function isOwnApi(address: string): boolean {
  if (!URL.canParse(address, document.baseURI)) return false
  const { protocol, hostname, pathname } = new URL(address, document.baseURI)
  const isWeb = protocol === 'http:' || protocol === 'https:'
  const basePath = new URL(document.baseURI).pathname
  return isWeb && hostname === location.hostname && isApiPath(pathname, basePath)
}
