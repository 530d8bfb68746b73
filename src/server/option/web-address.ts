/**
 * Rejects URLs that parsers interpret differently: with backslashes, a missing slash or a user name
 * before the host.
 */
export function isWebAddress(text: string): boolean {
  if (!/^https?:\/\/[^/\\?#]/i.test(text) || /[\s\\]/.test(text) || !URL.canParse(text)) {
    return false
  }
  const { username, password } = new URL(text)
  return username === '' && password === ''
}
