import type { Refusal } from '../../contract/errors.ts'
import type { z } from 'zod'
import type { Channel, ChannelInput } from '../../contract/channel-api.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { commaList } from '../../contract/text.ts'
import { keyLines, keysOf, mayHoldSeveralKeys } from '../../contract/channel-keys.ts'
import {
  channelType,
  composeKey,
  defaultBaseUrl,
  rootUrl,
  sparedField,
  trimBaseUrl,
} from '../../contract/channel-types.ts'
import { DEFAULT_GROUP } from '../../contract/user.ts'
import {
  answeredConfig,
  configText,
  configTexts,
  mergedConfig,
  parseConfigObject,
  secretsSet,
  withoutSecretMembers,
  type ConfigObject,
} from './channel-config.ts'
import { ABILITIES_MAX, channelRefusal, keyRefusal, tooMany } from './channel-input.ts'

/** Columns of a channel that its rules read. */
export interface ChannelState {
  type: number
  key: string
  status: number
  name: string | null
  base_url: string | null
  models: string | null
  config: string | null
  test_model: string | null
}

/** Columns that admins set. */
export interface ChannelFields {
  type: number
  key: string
  status: number
  name: string
  weight: number
  base_url: string
  other: string
  models: string
  group: string
  model_mapping: string
  priority: number
  config: string
  system_prompt: string
  test_model: string
}

export type ChannelChanges = Partial<ChannelFields>

/** Maximum number of channels created by one request. */
const BATCH_MAX = 1000
/** Maximum number of keys per channel. */
const KEYS_MAX = 200

/** A value, or the reason why it is invalid. */
export type Checked<T> = { ok: true; value: T } | { ok: false; refusal: Refusal }

const refused = (refusal: Refusal): { ok: false; refusal: Refusal } => ({ ok: false, refusal })

/** Channels to create, and the number of duplicate key lines. */
export interface NewChannels {
  channels: ChannelFields[]
  duplicates: number
}

/** Returns one channel per line of the key with the same fields, or one with all keys. */
export function newChannels(input: ChannelInput): Checked<NewChannels> {
  const refusal = channelRefusal(input)
  if (refusal !== null) return refused(refusal)
  const type = input.type ?? 0
  const config = withoutSpared(type, mergedConfig({}, parseConfigObject(input.config ?? '') ?? {}))
  const lines = channelKeys(type, input.key ?? '', config)
  if (lines.length === 0) return refused({ code: 'channel_key_missing' })
  const isComposed = channelType(type).key.composedOf.length > 0
  const wrongKey = isComposed ? null : (lines.map(keyRefusal).find((found) => found) ?? null)
  if (wrongKey !== null) return refused(wrongKey)
  const different = [...new Set(lines)]
  const isTogether = input.key_mode === 'together' && mayHoldSeveralKeys(type)
  if (isTogether && different.length > KEYS_MAX) return refused(tooMany('key', KEYS_MAX))
  const keys = isTogether ? [different.join('\n')] : different
  if (keys.length > BATCH_MAX) return refused(tooMany('key', BATCH_MAX))
  const models = commaList(input.models)
  const groups = commaList(input.group)
  if (keys.length * models.length * Math.max(1, groups.length) > ABILITIES_MAX) {
    return refused(tooMany('models × group × key', ABILITIES_MAX))
  }
  const shared = {
    type,
    status: input.status || ChannelStatus.enabled,
    name: input.name ?? '',
    weight: input.weight ?? 0,
    base_url: trimBaseUrl(input.base_url ?? ''),
    other: input.other ?? '',
    models: sentList(input.models),
    group: sentList(input.group) || DEFAULT_GROUP,
    model_mapping: input.model_mapping?.trim() ?? '',
    priority: input.priority ?? 0,
    config: configText(config, input.config),
    system_prompt: input.system_prompt ?? '',
    test_model: input.test_model?.trim() ?? '',
  }
  const channels = keys.map((key) => ({ ...shared, key }))
  return { ok: true, value: { channels, duplicates: lines.length - different.length } }
}

/** Returns a comma-separated list as sent; it is parsed where needed. Empty if it has no items. */
const sentList = (text = ''): string => (commaList(text).length === 0 ? '' : text.trim())

/**
 * Returns the keys in a text, one per line. A key composed of form fields is one key, even with
 * line breaks, because it may contain pasted JSON credentials.
 */
function channelKeys(type: number, text: string, config: ConfigObject): string[] {
  if (mayHoldSeveralKeys(type)) return keyLines(text)
  return keysOf(type, text.trim() || composeKey(type, configTexts(config)))
}

/** Returns the members that differ from the stored ones; unchanged values are not checked. */
function changedMembers(stored: ChannelState, input: ChannelInput): Partial<ChannelInput> {
  const was = new Map<string, unknown>(Object.entries(stored))
  return Object.fromEntries(
    Object.entries(input).filter(([member, value]) => was.get(member) !== value),
  )
}

/**
 * Returns the columns that an update writes. The wire defines the meaning of "empty" per member:
 * some can be emptied, for others (and for the key) it means unchanged. Members that only the
 * server writes are ignored.
 */
export function channelChanges(stored: ChannelState, input: ChannelInput): Checked<ChannelChanges> {
  const type = input.type || stored.type
  const refusal =
    channelRefusal(changedMembers(stored, input)) ??
    (mayHoldSeveralKeys(type) ? keysRefusal(stored, input) : null)
  if (refusal !== null) return refused(refusal)
  const changes: ChannelChanges = {}
  if (input.weight !== undefined) changes.weight = input.weight
  if (input.priority !== undefined) changes.priority = input.priority
  if (input.base_url !== undefined) changes.base_url = trimBaseUrl(input.base_url)
  if (input.other !== undefined) changes.other = input.other
  if (input.model_mapping !== undefined) changes.model_mapping = input.model_mapping.trim()
  if (input.system_prompt !== undefined) changes.system_prompt = input.system_prompt
  if (input.test_model !== undefined) changes.test_model = input.test_model.trim()
  if (input.name) changes.name = input.name
  if (input.type) changes.type = input.type
  if (input.status) changes.status = input.status
  const models = sentList(input.models)
  if (models !== '') changes.models = models
  const group = sentList(input.group)
  if (group !== '') changes.group = group
  return withCredentials(stored, input, changes)
}

/** Returns why these lines cannot be the keys of one channel, or null. */
function keysRefusal(stored: ChannelState, input: ChannelInput): Refusal | null {
  const lines = keyLines(input.key ?? '')
  const wrong = lines.map(keyRefusal).find((found) => found !== null) ?? null
  const kept = input.key_mode === 'add' ? keyLines(stored.key) : []
  const isTooMany = new Set([...kept, ...lines]).size > KEYS_MAX
  return wrong ?? (isTooMany ? tooMany('key', KEYS_MAX) : null)
}

/** Returns the new key column: one key per line, without duplicates. Empty if unchanged. */
function changedKey(type: number, stored: ChannelState, input: ChannelInput): string {
  const given = keysOf(type, input.key ?? '')
  const isAdded = input.key_mode === 'add' && given.length > 0
  return [...new Set([...(isAdded ? keysOf(type, stored.key) : []), ...given])].join('\n')
}

/**
 * Adds key and configuration. A stored secret is only sent to the destination it was entered for. A
 * change of the destination (another address, another proxy, a type with another address) requires
 * it again, because it could be read there.
 */
function withCredentials(
  stored: ChannelState,
  input: ChannelInput,
  changes: ChannelChanges,
): Checked<ChannelChanges> {
  const given = parseConfigObject(input.config ?? '') ?? {}
  const storedConfig = parseConfigObject(stored.config) ?? {}
  const type = changes.type ?? stored.type
  const isOtherType = type !== stored.type
  const { proxy } = mergedConfig(storedConfig, given)
  const moves = goesElsewhere(stored, changes) || textOf(proxy) !== textOf(storedConfig['proxy'])
  // Drops secrets of the former type, so that they need not be entered again.
  const used = isOtherType ? [] : secretsUsed(type)
  // A proxy belongs to the location and not to the type; without it calls would take another route.
  const kept = moves ? withoutSecretMembers(storedConfig, [...used, 'proxy']) : storedConfig
  const config = withoutSpared(type, mergedConfig(kept, given))
  const key = changedKey(type, stored, input)
  if (moves) {
    const entered = secretsSet(given)
    const carried = secretsSet(config).filter(
      (name) => used.includes(name) && !entered.includes(name),
    )
    const keepsKey = stored.key !== '' && (key === '' || input.key_mode === 'add')
    if (keepsKey || carried.length > 0) {
      return refused({ code: 'channel_key_needed_again' })
    }
  }
  const composed = input.config === undefined ? '' : composeKey(type, configTexts(config))
  // A key that was given as a whole has no separate parts to change: the part would be stored
  // unused.
  const isPart = channelType(type).key.composedOf.some(
    (part) => textOf(given[part]) !== '' && textOf(given[part]) !== textOf(storedConfig[part]),
  )
  if (isPart && composed === '' && key === '') return refused({ code: 'channel_key_missing' })
  const value: ChannelChanges = { ...changes }
  if (composed !== '' || key !== '') value.key = composed || key
  const text = configText(config, input.config || stored.config)
  if (text !== configText(storedConfig, stored.config)) value.config = text
  return { ok: true, value }
}

/**
 * Whether the destination of calls changes. A composed key is invalid for another type, and an
 * address derived from its fields is not known here.
 */
function goesElsewhere(stored: ChannelState, changes: ChannelChanges): boolean {
  const { type = stored.type, base_url = stored.base_url } = changes
  const isOtherType = type !== stored.type
  if (isOtherType && !(mayHoldSeveralKeys(type) && mayHoldSeveralKeys(stored.type))) return true
  const before = addressOf(stored.type, stored)
  const after = addressOf(type, { base_url, key: stored.key })
  return before !== after || (isOtherType && after === '')
}

/** Returns the channel's own address, or that of its type; '' if neither is known. */
const addressOf = (
  type: number,
  { base_url, key }: Pick<ChannelState, 'base_url' | 'key'>,
): string => rootUrl(type, trimBaseUrl(base_url ?? '')) || defaultBaseUrl(type, key)

/** Drops a part that the composed key omits, because it would be unused. */
function withoutSpared(type: number, config: ConfigObject): ConfigObject {
  const spared = sparedField(type, configTexts(config))
  return Object.fromEntries(Object.entries(config).filter(([member]) => member !== spared))
}

/** Returns the secret configuration members that a channel of this type uses. */
const secretsUsed = (type: number): string[] => [
  ...channelType(type).fields.flatMap((field) => (field.secret ? [field.config] : [])),
  'header_override',
]

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

type AnsweredSecrets = Pick<
  z.input<typeof Channel>,
  'key_set' | 'key_count' | 'config' | 'config_set'
>

/** Returns the channel for a response: without its secrets, but with flags whether they are set. */
export function answeredChannel<R extends ChannelState>(
  row: R,
): Omit<R, 'key' | 'config'> & AnsweredSecrets {
  const { key, config, ...rest } = row
  return {
    ...rest,
    key_set: key !== '',
    key_count: keysOf(row.type, key).length,
    config: answeredConfig(config),
    config_set: secretsSet(parseConfigObject(config) ?? {}),
  }
}

/**
 * Returns the model for a test: the requested one, the configured one, or the first. Empty if the
 * channel has no models.
 */
export const modelToTest = (channel: ChannelState, asked: string): string =>
  asked.trim() || channel.test_model?.trim() || (commaList(channel.models)[0] ?? '')

/** Returns the upstream name of a model. */
export const mappedModel = (mapping: string | null, model: string): string =>
  textOf(parseConfigObject(mapping)?.[model]) || model

/** Settings that allow a test to change a channel's status. */
export interface AutomaticRules {
  disables: boolean
  enables: boolean
  /** In seconds; an enabled channel that takes longer is disabled. 0 for never. */
  slowSeconds: number
}

/** Error of an upstream: HTTP status, and the error's own type and code. */
export interface UpstreamVerdict {
  status: number
  type: string
  code: string
}

/** The account or its key is no longer accepted for any request. */
const HARD_STATUSES: ReadonlySet<number> = new Set([401, 402])
/** Statuses about the request or a temporary problem, regardless of the error's name. */
const SOFT_STATUSES: ReadonlySet<number> = new Set([400, 404, 413, 422])
const HARD_TYPES: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'authentication_error',
  'permission_error',
  'forbidden',
])
const HARD_CODES: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'account_deactivated',
  'insufficient_quota',
])
/** From this status on, the upstream itself has a problem. */
const SERVER_FAULT = 500

/**
 * Whether an error concerns the channel's account, so that every call would get it. Error messages
 * are ignored, because they may repeat the request.
 */
export function isHardRefusal({ status, type, code }: UpstreamVerdict): boolean {
  if (SOFT_STATUSES.has(status) || status >= SERVER_FAULT) return false
  return HARD_STATUSES.has(status) || HARD_TYPES.has(type) || HARD_CODES.has(code)
}

/** Unambiguous codes and types, and the status of an unpaid bill. */
const CERTAIN_WORDS: ReadonlySet<string> = new Set([...HARD_CODES, 'authentication_error'])
const PAYMENT_REQUIRED = 402

/**
 * Whether one such error is enough to disable the channel. Others (a 401 or 403 without a reason)
 * may concern one model, one region or one request.
 */
export const isCertainRefusal = ({ status, type, code }: UpstreamVerdict): boolean =>
  isHardRefusal({ status, type, code }) &&
  (status === PAYMENT_REQUIRED || CERTAIN_WORDS.has(type) || CERTAIN_WORDS.has(code))

/** Result of a test, as far as it concerns the channel. */
export type TestVerdict =
  | { ok: true; elapsedMs: number }
  | { ok: false; elapsedMs: number; verdict?: UpstreamVerdict }

/**
 * Returns the status after a test, or null if unchanged. Only automatically disabled channels are
 * enabled again; manually disabled ones stay.
 */
export function statusAfterTest(
  status: number,
  test: TestVerdict,
  { disables, enables, slowSeconds }: AutomaticRules,
): number | null {
  const isSlow = test.ok && slowSeconds > 0 && test.elapsedMs > slowSeconds * 1000
  const isRefused = !test.ok && test.verdict !== undefined && isHardRefusal(test.verdict)
  if (status === ChannelStatus.enabled && disables && (isSlow || isRefused)) {
    return ChannelStatus.autoDisabled
  }
  if (status === ChannelStatus.autoDisabled && test.ok && enables && !(isSlow && disables)) {
    return ChannelStatus.enabled
  }
  return null
}
