/** Request overrides of a channel, as the form holds them. */
export interface OverridesForm {
  /** Empty means unchanged; null removes it. */
  proxy: string | null
  /** JSON object. Empty means unchanged; null removes it. */
  headers: string | null
  /** JSON object; empty if not set. */
  params: string
}

export const newOverrides = (): OverridesForm => ({ proxy: '', headers: '', params: '' })

/** Proxy and headers are write-only. */
export function toOverrides(config: Readonly<Record<string, unknown>>): OverridesForm {
  const params = config['param_override']
  return { ...newOverrides(), params: isObject(params) ? JSON.stringify(params, null, 2) : '' }
}

/** Members of `config` in the form that the server stores. The form must be valid. */
export function overrideMembers(
  { proxy, headers, params }: OverridesForm,
  stored: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  if (proxy !== '') members['proxy'] = proxy?.trim() ?? null
  if (headers === null) members['header_override'] = null
  else if (headers.trim() !== '') members['header_override'] = objectOf(headers)
  if (params.trim() !== '') members['param_override'] = objectOf(params)
  else if (stored['param_override'] !== undefined) members['param_override'] = null
  return members
}

export function isProxyAddress(text: string): boolean {
  if (!URL.canParse(text.trim())) return false
  const { protocol, pathname, search, hash } = new URL(text.trim())
  const isPlain = pathname === '/' && search === '' && hash === ''
  return isPlain && (protocol === 'http:' || protocol === 'https:')
}

export const isObjectText = (text: string): boolean => objectOf(text) !== null

/** Whether the text is a JSON object with only string values. */
export const isStringMapText = (text: string): boolean => {
  const value = objectOf(text)
  return value !== null && Object.values(value).every((one) => typeof one === 'string')
}

/** Parses a JSON object; null if invalid. */
export function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
