import { keysOf } from '../../contract/channel-keys.ts'
import { channelType } from '../../contract/channel-types.ts'
import { credentialsIn, parseConfigObject, type ConfigObject } from './channel-config.ts'
import { overrideSecrets, overridesOf, type Overrides } from './overrides.ts'

/**
 * Removes a channel's secrets from upstream messages in log rows, letters and responses: its keys,
 * its account, and the upstream's address.
 */

/** Secret parts of a channel. */
export interface ChannelWithSecrets {
  type: number
  /** One or several keys, as in the column. */
  key: string
  /** The channel's own address; '' for the public one of its type. */
  baseUrl: string
  config?: ConfigObject
  overrides?: Overrides
}

/** Columns with secrets. */
interface SecretColumns {
  type: number
  key: string
  base_url: string | null
  config: string | null
}

/** Removes the channel's secrets from a text of an upstream. */
export const withoutChannelSecrets = (text: string, columns: SecretColumns): string =>
  withoutSecrets(text, secretsOf(channelOf(columns)))

/** Removes only keys from the channel's name, which often equals its address. */
export const withoutKeys = (name: string, columns: SecretColumns): string =>
  withoutAll(name, keysIn(channelOf(columns)))

function channelOf({ type, key, base_url, config }: SecretColumns): ChannelWithSecrets {
  const members = parseConfigObject(config) ?? {}
  const overrides = overridesOf(members)
  return { type, key, baseUrl: base_url ?? '', config: members, overrides }
}

export function secretsOf(channel: ChannelWithSecrets): string[] {
  const { type, baseUrl, config = {}, overrides } = channel
  const { host, hostname } = URL.canParse(baseUrl) ? new URL(baseUrl) : { host: '', hostname: '' }
  // A name without a dot may be an ordinary word.
  const places = [host, hostname].filter((place) => /[.:]/.test(place))
  const accounts = channelType(type).fields.flatMap(({ config: member, isAccount }) =>
    isAccount === true ? [config[member]] : [],
  )
  return [
    ...keysIn(channel),
    baseUrl,
    ...places,
    ...accounts.filter((account) => typeof account === 'string'),
    ...(overrides === undefined ? [] : overrideSecrets(overrides)),
  ]
}

/** Minimum length of a secret part; shorter parts of a key are, for example, region names. */
const KEY_PART_MIN = 16

function keysIn({ type, key, config = {} }: ChannelWithSecrets): string[] {
  const keys = keysOf(type, key)
  // Each part of a composed key could reveal it.
  const parts = keys.flatMap((one) => one.split(/[|.]/))
  return [...keys, ...parts.filter((part) => part.length >= KEY_PART_MIN), ...credentialsIn(config)]
}

/**
 * Patterns of account names in errors: Google's project, Amazon's user, Ark's account, xAI's team
 * and key, organizations and projects of OpenAI and Moonshot.
 */
export const ACCOUNTS: readonly [pattern: RegExp, clean: string][] = [
  [/\b(projects?(?:_number)?[/:]|in project )[^\s/"',]+/g, '$1***'],
  [/\barn:aws[\w-]*:[^\s"'<>)]+/g, '***'],
  [/\b(account:? )\d{6,}/gi, '$1***'],
  [/\b(team:?|API key ID:) [\da-f]{8}-[\da-f-]{27}/gi, '$1 ***'],
  [/\b(?:org[-_]|proj_)\w{10,}/g, '***'],
]

/** Character sequences in which a vendor may have partly masked a key. */
const KEY_RUNS = /[\w*.…-]+/g
const KEY_PREFIX = /^(?:sk|gsk|xai|key)-/

/** Hides partly masked keys: `sk-abc***xyz`, `sk-abc...xyz`. */
function withoutMaskedKey(run: string): string {
  if (run.includes('***')) {
    return run.replace(/[\w*-]+/g, (part) => (part.includes('***') ? '***' : part))
  }
  const isMasked = KEY_PREFIX.test(run) && (run.includes('...') || run.includes('…'))
  if (!isMasked) return run
  // A full stop after the key ends the sentence.
  return run.endsWith('.') && !run.endsWith('..') ? '***.' : '***'
}

/** Patterns of server addresses: IP addresses, and after the words of a failed connection. */
const PLACES: readonly [pattern: RegExp, clean: string][] = [
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '***'],
  [/\[(?=[\da-f]*:[\da-f.]*:)[\da-f:.]{2,45}\](?::\d{1,5})?/gi, '***'],
  [
    /\b(dial (?:tcp|udp)|lookup|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT) [^\s:,]{2,}(?::\d{1,5})?/g,
    '$1 ***',
  ],
]

/**
 * Characters of a host name and a port. Texts may have a million characters, so a match begins only
 * where its run begins.
 */
const WITH_PORT = /(?<![a-z\d.-])([a-z\d.-]+):\d{2,5}\b/gi

/** Hides a host name with its port. A name without a dot may be an ordinary word. */
const withoutHost = (text: string, host: string): string =>
  /localhost$|[a-z\d-]\.[a-z]{2,}$/i.test(host.slice(-HOST_END_LENGTH)) ? '***' : text

/** Characters of the longest end of a host name: a top-level domain of 63, and what precedes it. */
const HOST_END_LENGTH = 65

/** Replaces every occurrence of a secret, addresses of the upstream, and names of its accounts. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = withoutAll(text, secrets)
    // PostgreSQL cannot store U+0000, and reasons and failures are stored.
    .replaceAll('\0', '')
    .replace(KEY_RUNS, withoutMaskedKey)
    .replace(/\bhttps?:\/\/[^\s"'<>)]+/gi, '***')
    .replace(/\bsk-[\w-]{8,}/g, 'sk-***')
    .replace(WITH_PORT, withoutHost)
  for (const [pattern, hidden] of [...ACCOUNTS, ...PLACES]) clean = clean.replace(pattern, hidden)
  return clean
}

/** Shorter secrets may be part of ordinary words. */
const SECRET_LENGTH_MIN = 4

function withoutAll(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) {
    if (secret.length < SECRET_LENGTH_MIN) continue
    for (const spelling of spellingsOf(secret)) clean = clean.replaceAll(spelling, '***')
  }
  return clean
}

/** Spellings: plain, in URLs, and in a JSON text quoted as a text, which some write with `\/`. */
function spellingsOf(secret: string): Set<string> {
  const quoted = JSON.stringify(secret).slice(1, -1)
  const inAddress = encodeURIComponent(secret.toWellFormed())
  return new Set([secret, inAddress, quoted, quoted.replaceAll('/', String.raw`\/`)])
}
