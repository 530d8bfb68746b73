import { CONFIG_MEMBERS, OVERRIDE_MEMBERS, SECRET_CONFIG_MEMBERS } from '../../contract/channel.ts'
import type { ConfigMember } from '../../contract/channel-types.ts'

/**
 * The `config` column: a JSON object text whose secret members are written and never read back. A
 * caller that edits a channel sends them empty, which means "as they are".
 */

export type ConfigObject = Readonly<Record<string, unknown>>

/**
 * The object of a JSON text; empty text is an empty object, anything else that is no object is
 * null.
 */
export function parseConfigObject(text: string | null): ConfigObject | null {
  if (text === null || text.trim() === '') return {}
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? { ...parsed }
      : null
  } catch {
    return null
  }
}

const SECRETS: ReadonlySet<string> = new Set(SECRET_CONFIG_MEMBERS)

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

/** Secret members that hold a value. */
export const secretsSet = (config: ConfigObject): string[] =>
  SECRET_CONFIG_MEMBERS.filter((member) => isSet(config[member]))

const OVERRIDES: ReadonlySet<string> = new Set(OVERRIDE_MEMBERS)

/** Credentials among them, which can stand for a key or be a part of it. */
export const credentialsIn = (config: ConfigObject): string[] =>
  SECRET_CONFIG_MEMBERS.filter((member) => !OVERRIDES.has(member))
    .map((member) => config[member])
    .filter((value): value is string => typeof value === 'string' && value !== '')

/**
 * What is stored after `given` was sent for a channel that holds `stored`. Members that are not
 * mentioned stay; a stored secret that comes back empty stays too, and `null` takes a member away.
 */
export function mergedConfig(stored: ConfigObject, given: ConfigObject): ConfigObject {
  const isKeptSecret = (member: string) => SECRETS.has(member) && isSet(stored[member])
  const kept = Object.entries(given).filter(
    ([member, value]) => value !== null && !(value === '' && isKeptSecret(member)),
  )
  const removed = new Set(Object.keys(given).filter((member) => given[member] === null))
  const rest = Object.entries(stored).filter(([member]) => !removed.has(member))
  return Object.fromEntries([...rest, ...kept])
}

/** Without the secrets that hold a value, but for those named. */
export const withoutSecretMembers = (config: ConfigObject, kept: readonly string[]): ConfigObject =>
  Object.fromEntries(
    Object.entries(config).filter(
      ([member, value]) => !SECRETS.has(member) || kept.includes(member) || !isSet(value),
    ),
  )

/** The text to store. `written`: where it comes from; of an empty text no empty object is made. */
export const configText = (config: ConfigObject, written: string | null | undefined): string =>
  isBlank(written) && Object.keys(config).length === 0 ? '' : JSON.stringify(config)

const isBlank = (text: string | null | undefined): boolean => (text ?? '').trim() === ''

const KNOWN: ReadonlySet<string> = new Set([...CONFIG_MEMBERS, ...OVERRIDE_MEMBERS])

/**
 * What is answered: the members the wire knows, secrets blank. A text that cannot be read is
 * withheld.
 */
export function answeredConfig(text: string | null): string {
  const config = parseConfigObject(text)
  if (config === null || isBlank(text)) return ''
  const shown = Object.entries(config)
    .filter(([member]) => KNOWN.has(member))
    .map(([member, value]) => [member, SECRETS.has(member) ? '' : value])
  return JSON.stringify(Object.fromEntries(shown))
}

/** The members that a key can be composed of. */
export const configTexts = (config: ConfigObject): Partial<Record<ConfigMember, string>> =>
  Object.fromEntries(
    Object.entries(config).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  )
