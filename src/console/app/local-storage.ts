/**
 * Names in local storage. They are shared with consoles of the One API family on the same origin,
 * so stored values are never trusted to have our shape.
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

/** Null if nothing is stored or storage is unavailable (private windows, blocked cookies). */
export function readStored(name: StoredName): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/**
 * Null removes the value. A full or unavailable storage is ignored: the value is only kept for less
 * time.
 */
export function writeStored(name: StoredName, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name)
    else localStorage.setItem(name, value)
  } catch {
    return
  }
}

/** The object stored as JSON under a name; null if missing or invalid. */
export function readStoredObject(name: StoredName): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readStored(name) ?? 'null')
    // It is an object, so reading unknown members is safe.
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
