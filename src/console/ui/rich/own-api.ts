import { isApiPath } from '../../../contract/own-api-path.ts'

/**
 * Whether an address that an operator wrote leads to our own API, whose GETs may change something
 * in the reader's name. Any scheme and port of our host counts: browsers raise `http:` to `https:`,
 * and cookies do not know ports.
 */
export function isOwnApi(address: string): boolean {
  if (!URL.canParse(address, document.baseURI)) return false
  const { protocol, hostname, pathname } = new URL(address, document.baseURI)
  const isWeb = protocol === 'http:' || protocol === 'https:'
  const basePath = new URL(document.baseURI).pathname
  return isWeb && hostname === location.hostname && isApiPath(pathname, basePath)
}
