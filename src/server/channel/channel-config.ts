import { CONFIG_MEMBERS, OVERRIDE_MEMBERS, SECRET_CONFIG_MEMBERS } from '../../contract/channel.ts'
import type { ConfigMember } from '../../contract/channel-types.ts'

/**
 * The `config` column: a JSON object as text, whose secret members can be written but not read. In
 * an edit an empty secret means unchanged.
 */

export type ConfigObject = Readonly<Record<string, unknown>>

/**
 * Parses a JSON object. Empty text is an empty object; anything else that is not an object is null.
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

/** Returns the secret members that have a value. */
export const secretsSet = (config: ConfigObject): string[] =>
  SECRET_CONFIG_MEMBERS.filter((member) => isSet(config[member]))

const OVERRIDES: ReadonlySet<string> = new Set(OVERRIDE_MEMBERS)

/** Returns the credentials among them, which can be a key or part of one. */
export const credentialsIn = (config: ConfigObject): string[] =>
  SECRET_CONFIG_MEMBERS.filter((member) => !OVERRIDES.has(member))
    .map((member) => config[member])
    .filter((value): value is string => typeof value === 'string' && value !== '')

/**
 * Returns the configuration to store after an edit. Members that are not given stay, and so does a
 * stored secret that is given as an empty text; `null` removes a member.
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

/** Removes the secrets that have a value, except the named ones. */
export const withoutSecretMembers = (config: ConfigObject, kept: readonly string[]): ConfigObject =>
  Object.fromEntries(
    Object.entries(config).filter(
      ([member, value]) => !SECRETS.has(member) || kept.includes(member) || !isSet(value),
    ),
  )

/**
 * Returns the text to store. `written` is the original text; an empty one is not turned into an
 * empty object.
 */
export const configText = (config: ConfigObject, written: string | null | undefined): string =>
  isBlank(written) && Object.keys(config).length === 0 ? '' : JSON.stringify(config)

const isBlank = (text: string | null | undefined): boolean => (text ?? '').trim() === ''

const KNOWN: ReadonlySet<string> = new Set([...CONFIG_MEMBERS, ...OVERRIDE_MEMBERS])

/**
 * Returns the configuration for responses: members of the wire, with empty secrets. An
 * invalid text is withheld.
 */
export function answeredConfig(text: string | null): string {
  const config = parseConfigObject(text)
  if (config === null || isBlank(text)) return ''
  const shown = Object.entries(config)
    .filter(([member]) => KNOWN.has(member))
    .map(([member, value]) => [member, SECRETS.has(member) ? '' : value])
  return JSON.stringify(Object.fromEntries(shown))
}

/** Returns the members that a key can be composed of. */
export const configTexts = (config: ConfigObject): Partial<Record<ConfigMember, string>> =>
  Object.fromEntries(
    Object.entries(config).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  )
