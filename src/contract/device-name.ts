/** Browsers by a word of their name; each contains the words of those below it. */
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['MicroMessenger', 'WeChat'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['CriOS/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const

const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['HarmonyOS', 'HarmonyOS'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/**
 * Returns what people call the browser or program of a `User-Agent` header: `Chrome · Windows`, or
 * the first word of an unknown one (`curl/8.5.0`). Empty if the header is.
 */
export function deviceName(userAgent: string): string {
  const nameIn = (table: readonly (readonly [string, string])[]) =>
    table.find(([word]) => userAgent.includes(word))?.[1]
  const browser = nameIn(BROWSERS) ?? userAgent.split(' ', 1).join()
  const system = nameIn(SYSTEMS)
  return system === undefined ? browser : `${browser} · ${system}`
}
