import { keysOf } from '../../contract/channel-keys.ts'
import { channelType } from '../../contract/channel-types.ts'
import { credentialsIn, parseConfigObject, type ConfigObject } from './channel-config.ts'
import { overrideSecrets, overridesOf, type Overrides } from './overrides.ts'

/**
 * What nobody may hear of a channel who is told what its upstream said, and who reads it in a log
 * row or a letter: its keys, its account, and where the upstream is.
 */

/** A channel as far as it is secret. */
export interface ChannelWithSecrets {
  type: number
  /** One, or several as the column holds them. */
  key: string
  /** Its own; '': that of its type, which everybody knows. */
  baseUrl: string
  config?: ConfigObject
  overrides?: Overrides
}

/** The columns of it. */
interface SecretColumns {
  type: number
  key: string
  base_url: string | null
  config: string | null
}

/** A text of an upstream, or one that may repeat its words, without the channel's secrets. */
export const withoutChannelSecrets = (text: string, columns: SecretColumns): string =>
  withoutSecrets(text, secretsOf(channelOf(columns)))

/** A name that people gave the channel, often that of its address; only a key is hidden in it. */
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

/** Shorter parts of a key are names of regions and the like. */
const KEY_PART_MIN = 16

function keysIn({ type, key, config = {} }: ChannelWithSecrets): string[] {
  const keys = keysOf(type, key)
  // Of a key of several parts each could give it away.
  const parts = keys.flatMap((one) => one.split(/[|.]/))
  return [...keys, ...parts.filter((part) => part.length >= KEY_PART_MIN), ...credentialsIn(config)]
}

/**
 * How vendors name the account that was refused: Google's project, Amazon's user, Ark's account,
 * xAI's team and key, organizations and projects of OpenAI and Moonshot.
 */
export const ACCOUNTS: readonly [pattern: RegExp, clean: string][] = [
  [/\b(projects?(?:_number)?[/:]|in project )[^\s/"',]+/g, '$1***'],
  [/\barn:aws[\w-]*:[^\s"'<>)]+/g, '***'],
  [/\b(account:? )\d{6,}/gi, '$1***'],
  [/\b(team:?|API key ID:) [\da-f]{8}-[\da-f-]{27}/gi, '$1 ***'],
  [/\b(?:org[-_]|proj_)\w{10,}/g, '***'],
]

/** Runs of characters in which a vendor may have masked a key in part. */
const KEY_RUNS = /[\w*.…-]+/g
const KEY_PREFIX = /^(?:sk|gsk|xai|key)-/

/** Hides keys that are masked in part: `sk-abc***xyz`, `sk-abc...xyz`. */
function withoutMaskedKey(run: string): string {
  if (run.includes('***')) {
    return run.replace(/[\w*-]+/g, (part) => (part.includes('***') ? '***' : part))
  }
  const isMasked = KEY_PREFIX.test(run) && (run.includes('...') || run.includes('…'))
  if (!isMasked) return run
  // A full stop behind the key ends the sentence.
  return run.endsWith('.') && !run.endsWith('..') ? '***.' : '***'
}

/** Where a server is: with a port, as an address of numbers, or behind the words of a failed call. */
const PLACES: readonly [pattern: RegExp, clean: string][] = [
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '***'],
  [/\[[\da-f]*:[\da-f:.]*:[\da-f.]*\](?::\d{1,5})?/gi, '***'],
  [/\b(?:localhost|[a-z\d-]+(?:\.[a-z\d-]+)*\.[a-z]{2,}):\d{2,5}\b/gi, '***'],
  [
    /\b(dial (?:tcp|udp)|lookup|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT) [^\s:,]{2,}(?::\d{1,5})?/g,
    '$1 ***',
  ],
]

/**
 * Replaces every occurrence of a secret, addresses, which tell where the upstream is, and names of
 * its accounts.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = withoutAll(text, secrets)
    // No column of PostgreSQL takes one, and reasons and failures are stored.
    .replaceAll('\0', '')
    .replace(KEY_RUNS, withoutMaskedKey)
    .replace(/\bhttps?:\/\/[^\s"'<>)]+/gi, '***')
    .replace(/\bsk-[\w-]{8,}/g, 'sk-***')
  for (const [pattern, hidden] of [...ACCOUNTS, ...PLACES]) clean = clean.replace(pattern, hidden)
  return clean
}

/** Shorter ones stand in ordinary words. */
const SECRET_LENGTH_MIN = 4

function withoutAll(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) {
    if (secret.length < SECRET_LENGTH_MIN) continue
    for (const spelling of spellingsOf(secret)) clean = clean.replaceAll(spelling, '***')
  }
  return clean
}

/** As it is, in an address, and in a JSON text that is quoted as a text, by some with `\/`. */
function spellingsOf(secret: string): Set<string> {
  const quoted = JSON.stringify(secret).slice(1, -1)
  const inAddress = encodeURIComponent(secret.toWellFormed())
  return new Set([secret, inAddress, quoted, quoted.replaceAll('/', String.raw`\/`)])
}
