import type { Refusal } from '../../contract/errors.ts'
import type { z } from 'zod'
import type { Channel, ChannelInput } from '../../contract/channel-api.ts'
import { ChannelStatus, commaList } from '../../contract/channel.ts'
import { channelType, composeKey, trimBaseUrl } from '../../contract/channel-types.ts'
import { DEFAULT_GROUP } from '../../contract/user.ts'
import { length } from '../user/user.ts'
import {
  answeredConfig,
  configText,
  configTexts,
  mergedConfig,
  parseConfigObject,
  secretsSet,
  secretValues,
  withoutSecrets,
  type ConfigObject,
} from './channel-config.ts'

/** The columns of a channel that its rules read. */
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

/** The columns that people set. */
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

/** Characters. The database's index over the column holds no more than this many of four bytes. */
const NAME_LENGTH_MAX = 200
/** Characters of one model's name, wherever it comes from: log rows and sums are indexed by it. */
const MODEL_LENGTH_MAX = 256
/** Characters of one group's name: One API's own column. */
const GROUP_LENGTH_MAX = 32
/** Channels that one call creates. */
const BATCH_MAX = 1000
/** Rows (group, model, channel) that one call may bring about; keeps its transaction short. */
const ABILITIES_MAX = 100_000

/** The first member that breaks a rule, or null. Absent and empty members are not looked at. */
export function channelRefusal(input: ChannelInput): Refusal | null {
  const { status = 0, name = '', base_url = '', model_mapping = '', config = '' } = input
  if (status !== 0 && !isChannelStatus(status)) return { code: 'channel_status_invalid' }
  if (length(name) > NAME_LENGTH_MAX) return tooLong('name', NAME_LENGTH_MAX)
  const address = trimBaseUrl(base_url)
  if (address !== '' && !isWebAddress(address)) {
    return { code: 'channel_base_url_invalid', params: { url: address.slice(0, 200) } }
  }
  if (!isModelMapping(model_mapping)) return { code: 'channel_mapping_invalid' }
  if (parseConfigObject(config) === null) return { code: 'channel_config_invalid' }
  const models = commaList(input.models)
  if ([...models, input.test_model?.trim() ?? ''].some(isOverlongModel)) {
    return tooLong('models', MODEL_LENGTH_MAX)
  }
  const groups = commaList(input.group)
  if (groups.some((group) => length(group) > GROUP_LENGTH_MAX)) {
    return tooLong('group', GROUP_LENGTH_MAX)
  }
  return models.length * Math.max(1, groups.length) > ABILITIES_MAX
    ? tooMany('models', ABILITIES_MAX)
    : null
}

const isChannelStatus = (status: number): boolean =>
  Object.values<number>(ChannelStatus).includes(status)

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

const isOverlongModel = (model: string): boolean => length(model) > MODEL_LENGTH_MAX

/** Nothing, or a JSON object from names to names. */
function isModelMapping(text: string): boolean {
  const mapping = parseConfigObject(text)
  return (
    mapping !== null &&
    Object.values(mapping).every((model) => typeof model === 'string' && !isOverlongModel(model))
  )
}

const tooLong = (field: string, max: number): Refusal => ({
  code: 'invalid_field',
  params: {
    field,
    problemZh: `每项最多 ${max} 个字符`,
    problemEn: `each has at most ${max} characters`,
  },
})

const tooMany = (field: string, max: number): Refusal => ({
  code: 'invalid_field',
  params: { field, problemZh: `一次最多 ${max} 项`, problemEn: `at most ${max} at once` },
})

/** A value, or why there is none. */
export type Checked<T> = { ok: true; value: T } | { ok: false; refusal: Refusal }

const refused = (refusal: Refusal): { ok: false; refusal: Refusal } => ({ ok: false, refusal })

/** The channels that a creation asks for: one for each line of the key, all else the same. */
export function newChannels(input: ChannelInput): Checked<ChannelFields[]> {
  const refusal = channelRefusal(input)
  if (refusal !== null) return refused(refusal)
  const type = input.type ?? 0
  const config = mergedConfig({}, parseConfigObject(input.config ?? '') ?? {})
  const keys = channelKeys(type, input.key ?? '', config)
  if (keys.length === 0) return refused({ code: 'channel_key_missing' })
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
    models: models.join(','),
    group: groups.join(',') || DEFAULT_GROUP,
    model_mapping: input.model_mapping?.trim() ?? '',
    priority: input.priority ?? 0,
    config: configText(config),
    system_prompt: input.system_prompt ?? '',
    test_model: input.test_model?.trim() ?? '',
  }
  return { ok: true, value: keys.map((key) => ({ ...shared, key })) }
}

/**
 * The keys in a text, one a line. A key that is composed of form fields is one key, whatever its
 * lines: the credentials in it may be JSON as people paste it.
 */
function channelKeys(type: number, text: string, config: ConfigObject): string[] {
  if (channelType(type).key.composedOf.length > 0) {
    const key = text.trim() || composeKey(type, configTexts(config))
    return key === '' ? [] : [key]
  }
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/**
 * What an update writes. Each member has the wire's own meaning of "empty": some can be emptied,
 * for others (and for the key) empty means unchanged. Members that only the server writes are not
 * read at all.
 */
export function channelChanges(stored: ChannelState, input: ChannelInput): Checked<ChannelChanges> {
  const refusal = channelRefusal(input)
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
  const models = commaList(input.models).join(',')
  if (models !== '') changes.models = models
  const groups = commaList(input.group).join(',')
  if (groups !== '') changes.group = groups
  return withCredentials(stored, input, changes)
}

/**
 * Adds key and configuration. A stored secret goes only where it was entered for: whoever sends the
 * channel elsewhere (another address, another proxy, another type) enters it again, or could read
 * it there.
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
  const config = mergedConfig(isOtherType ? withoutSecrets(storedConfig) : storedConfig, given)
  const moves =
    isOtherType ||
    (changes.base_url ?? trimBaseUrl(stored.base_url ?? '')) !==
      trimBaseUrl(stored.base_url ?? '') ||
    textOf(config['proxy']) !== textOf(storedConfig['proxy'])
  const key = input.key?.trim() ?? ''
  if (moves) {
    const entered = secretsSet(given)
    // Secrets of the former type are dropped with it; they need not be entered to be forgotten.
    const carried = isOtherType ? [] : secretsSet(config).filter((name) => !entered.includes(name))
    if ((stored.key !== '' && key === '') || carried.length > 0) {
      return refused({ code: 'channel_key_needed_again' })
    }
  }
  const composed = input.config === undefined ? '' : composeKey(type, configTexts(config))
  const value: ChannelChanges = { ...changes }
  if (composed !== '' || key !== '') value.key = composed || key
  const text = configText(config)
  if (text !== configText(storedConfig)) value.config = text
  return { ok: true, value }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The channel as it is answered: without its secrets, but with whether they are set. */
export function answeredChannel<R extends ChannelState>(
  row: R,
): Omit<R, 'key' | 'config'> & Pick<z.input<typeof Channel>, 'key_set' | 'config' | 'config_set'> {
  const { key, config, ...rest } = row
  return {
    ...rest,
    key_set: key !== '',
    config: answeredConfig(config),
    config_set: secretsSet(parseConfigObject(config) ?? {}),
  }
}

/** A text from an upstream or an error without the channel's secrets, if it should repeat them. */
export function withoutChannelSecrets(text: string, channel: ChannelState): string {
  const secrets = [channel.key, ...secretValues(parseConfigObject(channel.config) ?? {})]
  return secrets
    .filter((secret) => secret !== '')
    .reduce((clean, secret) => clean.replaceAll(secret, '***'), text)
}

/**
 * The model a test calls: the one asked for, the channel's own choice, its first. Empty: it has
 * none.
 */
export const modelToTest = (channel: ChannelState, asked: string): string =>
  asked.trim() || channel.test_model?.trim() || (commaList(channel.models)[0] ?? '')

/** The settings that let a test change a channel's status. */
export interface AutomaticRules {
  disables: boolean
  enables: boolean
  /** Seconds; an enabled channel that takes longer is disabled. 0: never. */
  slowSeconds: number
}

/**
 * The status that a test gives a channel, or null: it keeps its own. Only what the program disabled
 * is enabled again by it; what a person disabled stays so.
 */
export function statusAfterTest(
  status: number,
  { ok, elapsedMs }: { ok: boolean; elapsedMs: number },
  { disables, enables, slowSeconds }: AutomaticRules,
): number | null {
  const isSlow = slowSeconds > 0 && elapsedMs > slowSeconds * 1000
  if (status === ChannelStatus.enabled && ok && isSlow && disables)
    return ChannelStatus.autoDisabled
  if (status === ChannelStatus.autoDisabled && ok && enables && !(isSlow && disables)) {
    return ChannelStatus.enabled
  }
  return null
}
