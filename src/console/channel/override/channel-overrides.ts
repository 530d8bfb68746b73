/** What a channel changes in its requests, as the form holds it. */
export interface OverridesForm {
  /** Empty: as it is; null: to be removed. */
  proxy: string | null
  /** JSON object text. Empty: as it is; null: to be removed. */
  headers: string | null
  /** JSON object text. Empty: none. */
  params: string
}

export const newOverrides = (): OverridesForm => ({ proxy: '', headers: '', params: '' })

/** Proxy and headers are written and never read back. */
export function toOverrides(config: Readonly<Record<string, unknown>>): OverridesForm {
  const params = config['param_override']
  return { ...newOverrides(), params: isObject(params) ? JSON.stringify(params, null, 2) : '' }
}

/** The members of `config`, in the spelling that the server keeps them. Of a form without errors. */
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

/** A JSON object whose values are all texts. */
export const isTextsText = (text: string): boolean => {
  const value = objectOf(text)
  return value !== null && Object.values(value).every((one) => typeof one === 'string')
}

/** The object of a JSON text; null when the text is none. */
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
