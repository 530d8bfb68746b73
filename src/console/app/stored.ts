/**
 * What the console keeps in local storage. The names are the wire's: consoles of the One API family
 * on the same origin read and write them too, so nothing found here is trusted to have our shape.
 */
export type StoredName =
  | 'user'
  | 'status'
  | 'system_name'
  | 'logo'
  | 'footer_html'
  | 'quota_per_unit'
  | 'display_in_currency'
  | 'channel_models'
  | 'aff'
  | 'language'
  | 'notice'
  | 'ignored_proxy'
  | `prompt-${string}`

/** Null when nothing is stored or storage is closed to us (private windows, blocked cookies). */
export function readStored(name: StoredName): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/**
 * Null removes. A full or closed storage is no reason to stop: the value is only remembered less
 * long.
 */
export function writeStored(name: StoredName, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name)
    else localStorage.setItem(name, value)
  } catch {
    return
  }
}

/** The object stored as JSON under a name; null when there is none or it is something else. */
export function readStoredObject(name: StoredName): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readStored(name) ?? 'null')
    // An object checked to be one: reading unknown members of it is safe.
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
