import type { ChannelInput } from '../../contract/channel-api.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { trimBaseUrl } from '../../contract/channel-types.ts'
import type { Refusal } from '../../contract/errors.ts'
import { addressClass } from '../egress/address-class.ts'
import { fieldPlaces } from '../../contract/field-title.ts'
import { commaList, isReadable, length } from '../../contract/text.ts'
import { GROUP_NAME_LENGTH_MAX } from '../../contract/user.ts'
import { parseConfigObject } from './channel-config.ts'
import { overridesRefusal } from './overrides.ts'

/** Validates the input for channels. */

/** In characters; the column's index holds no more characters of four bytes. */
const NAME_LENGTH_MAX = 200
/**
 * Maximum length of a model name in characters, from any source, because log rows and rollups are
 * indexed by it.
 */
export const MODEL_LENGTH_MAX = 256
/** Maximum number of abilities (group, model, channel) per request; keeps its transaction short. */
export const ABILITIES_MAX = 100_000

/**
 * Invisible characters are never part of a key. They come from copying, and headers cannot contain
 * them.
 */
const UNREADABLE_IN_KEY = /[\p{Cc}\p{Cs}\p{Cf}]/u

/** Returns the first invalid member, or null. Absent and empty members are not checked. */
export function channelRefusal(input: Partial<ChannelInput>): Refusal | null {
  const { status = 0, model_mapping = '', config = '' } = input
  if (status !== 0 && !isChannelStatus(status)) return { code: 'channel_status_invalid' }
  return (
    textRefusal(input) ??
    addressRefusal(input.base_url ?? '') ??
    (isModelMapping(model_mapping) ? null : { code: 'channel_mapping_invalid' }) ??
    configRefusal(config) ??
    listRefusal(input)
  )
}

function configRefusal(text: string): Refusal | null {
  const config = parseConfigObject(text)
  return config === null ? { code: 'channel_config_invalid' } : overridesRefusal(config)
}

const isChannelStatus = (status: number): boolean =>
  Object.values<number>(ChannelStatus).includes(status)

function textRefusal(input: Partial<ChannelInput>): Refusal | null {
  const { name = '', test_model = '' } = input
  if (length(name) > NAME_LENGTH_MAX) return tooLong('name', NAME_LENGTH_MAX)
  if (isOverlongModel(test_model.trim())) return tooLong('test_model', MODEL_LENGTH_MAX)
  const texts = ['name', 'group', 'models', 'test_model', 'base_url', 'other'] as const
  const field = texts.find((member) => !isReadable((input[member] ?? '').trim()))
  return field === undefined ? null : { code: 'text_unreadable', params: fieldPlaces(field) }
}

/** Returns why a one-line key is invalid, or null. */
export const keyRefusal = (key: string): Refusal | null =>
  UNREADABLE_IN_KEY.test(key) ? { code: 'text_unreadable', params: fieldPlaces('key') } : null

/** Maximum number of characters of a wrong address in an error. */
const SHOWN_ADDRESS_MAX = 200

/**
 * Host names are resolved and classified when they are called; a literal address can be checked
 * now.
 */
function addressRefusal(text: string): Refusal | null {
  const address = trimBaseUrl(text)
  if (address === '') return null
  const params = { url: address.slice(0, SHOWN_ADDRESS_MAX) }
  if (!isBaseAddress(address)) return { code: 'channel_base_url_invalid', params }
  const host = new URL(address).hostname.replace(/^\[(.*)\]$/, '$1')
  const isLiteral = host.includes(':') || /^\d+(\.\d+){3}$/.test(host)
  return isLiteral && addressClass(host) === 'forbidden'
    ? { code: 'channel_address_forbidden', params }
    : null
}

function isBaseAddress(text: string): boolean {
  if (!URL.canParse(text) || /[?#\s\\]/.test(text)) return false
  const { protocol, username, password } = new URL(text)
  // Addresses are shown to everyone who sees the channel, so they must not contain a password.
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}

const isOverlongModel = (model: string): boolean => length(model) > MODEL_LENGTH_MAX

const isModelName = (model: unknown): boolean =>
  typeof model === 'string' && !isOverlongModel(model) && isReadable(model)

/** Whether the text is empty or a JSON object that maps names to names. */
function isModelMapping(text: string): boolean {
  const mapping = parseConfigObject(text)
  return mapping !== null && Object.entries(mapping).flat().every(isModelName)
}

function listRefusal(input: Partial<ChannelInput>): Refusal | null {
  const models = commaList(input.models)
  if (models.some(isOverlongModel)) return itemTooLong('models', MODEL_LENGTH_MAX)
  const groups = commaList(input.group)
  if (groups.some((group) => length(group) > GROUP_NAME_LENGTH_MAX)) {
    return itemTooLong('group', GROUP_NAME_LENGTH_MAX)
  }
  return models.length * Math.max(1, groups.length) > ABILITIES_MAX
    ? tooMany('models', ABILITIES_MAX)
    : null
}

const tooLong = (field: string, max: number): Refusal =>
  invalidField(field, {
    problemZh: `最多 ${max} 个字符`,
    problemEn: `it has at most ${max} characters`,
  })

const itemTooLong = (field: string, max: number): Refusal =>
  invalidField(field, {
    problemZh: `每项最多 ${max} 个字符`,
    problemEn: `each has at most ${max} characters`,
  })

export const tooMany = (field: string, max: number): Refusal =>
  invalidField(field, {
    problemZh: `一次最多 ${max} 项`,
    problemEn: `at most ${max} at once`,
  })

const invalidField = (
  field: string,
  problem: { problemZh: string; problemEn: string },
): Refusal => ({ code: 'invalid_field', params: { ...fieldPlaces(field), ...problem } })
