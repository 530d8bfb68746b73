import type { Channel, ChannelInput } from '../../contract/channel-api.ts'
import type { HiddenField } from '../../contract/channel-type-row.ts'
import {
  channelType,
  type ConfigMember,
  composeKey,
  sparedField,
  splitKey,
  trimBaseUrl,
} from '../../contract/channel-types.ts'
import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'
import { keyLines } from '../../contract/channel-keys.ts'
import { CONFIG_MEMBERS } from '../../contract/channel.ts'
import { commaList } from '../../contract/text.ts'
import { DEFAULT_GROUP } from '../../contract/user.ts'
import { wholeNumber } from '../ui/field/whole-number.ts'
import {
  newOverrides,
  overrideMembers,
  type OverridesForm,
  objectOf,
  toOverrides,
} from './channel-overrides.ts'

export type KeyMode = 'each' | 'together' | 'replace' | 'add'

/** Form values: texts as entered. */
export interface ChannelForm {
  type: number
  name: string
  groups: string[]
  baseUrl: string
  /** Empty in an edit means unchanged. With `isBatch`, one key per line. */
  key: string
  isBatch: boolean
  /** How several keys are used: `each` creates a channel for each, `add` keeps the stored ones. */
  keyMode: KeyMode
  /** Fields of the type, and values left from other types. */
  config: Record<ConfigMember, string>
  models: string[]
  /** JSON object. */
  mapping: string
  systemPrompt: string
  /** Integer; omitted if empty. */
  priority: string
  /** Integer; omitted if empty. */
  weight: string
  overrides: OverridesForm
}

const emptyConfig = (): Record<ConfigMember, string> => ({
  region: '',
  sk: '',
  ak: '',
  user_id: '',
  api_version: '',
  deployment_dots: '',
  library_id: '',
  plugin: '',
  vertex_ai_project_id: '',
  vertex_ai_adc: '',
})

export const newChannelForm = (): ChannelForm => ({
  type: ChannelTypeNumber.openai,
  name: '',
  groups: [DEFAULT_GROUP],
  baseUrl: '',
  key: '',
  isBatch: false,
  keyMode: 'each',
  config: emptyConfig(),
  models: [],
  mapping: '',
  systemPrompt: '',
  priority: '',
  weight: '',
  overrides: newOverrides(),
})

/** Parses the stored object; null if invalid. */
const configObject = (text: string | null): Record<string, unknown> | null => objectOf(text || '{}')

function formConfig({ type, config, other }: Channel): Record<ConfigMember, string> {
  const stored = configObject(config) ?? {}
  const filled = emptyConfig()
  for (const member of CONFIG_MEMBERS) {
    const value = stored[member]
    if (typeof value === 'string') filled[member] = value
  }
  // Older programs stored the extra field of a type in `other`.
  for (const { config: member, alsoOther, whenAbsent = '' } of channelType(type).fields) {
    if (filled[member] === '') filled[member] = alsoOther ? (other ?? '') : whenAbsent
  }
  return filled
}

export function toForm(channel: Channel): ChannelForm {
  return {
    type: channel.type,
    name: channel.name ?? '',
    groups: commaList(channel.group),
    baseUrl: channel.base_url ?? '',
    key: '',
    isBatch: (channel.key_count ?? 1) > 1,
    keyMode: 'replace',
    config: formConfig(channel),
    models: commaList(channel.models),
    mapping: channel.model_mapping ?? '',
    systemPrompt: channel.system_prompt ?? '',
    priority: String(channel.priority ?? 0),
    weight: String(channel.weight ?? 0),
    overrides: toOverrides(configObject(channel.config) ?? {}),
  }
}

/** Whether the form shows a field for this type. */
export const hasField = (type: number, field: HiddenField): boolean =>
  !channelType(type).hiddenFields.includes(field)

/** Members of `config` from the form's fields, with defaults for empty ones. */
function typedConfig({ type, config }: ChannelForm): Partial<Record<ConfigMember, string>> {
  const values = channelType(type).fields.map(
    (field) => [field.config, config[field.config].trim() || field.default] as const,
  )
  return Object.fromEntries(values)
}

/** Members without a field are sent back unchanged: older servers replace the whole object. */
function configText(form: ChannelForm, stored: string | null): string {
  const typed = typedConfig(form)
  const overrides = overrideMembers(form.overrides, configObject(stored) ?? {})
  const filled = Object.fromEntries(
    Object.entries({ ...configObject(stored), ...typed, ...overrides }).filter(
      // A cleared field must be sent; one that was never set is omitted.
      ([member, value]) => value !== '' || Object.hasOwn(configObject(stored) ?? {}, member),
    ),
  )
  return Object.keys(filled).length === 0 ? '' : JSON.stringify(filled)
}

function otherText(form: ChannelForm): string {
  const field = channelType(form.type).fields.find(({ alsoOther }) => alsoOther)
  return field === undefined ? '' : (typedConfig(form)[field.config] ?? '')
}

function keyText(form: ChannelForm): string {
  const composed = composeKey(form.type, typedConfig(form))
  if (composed !== '' || !hasField(form.type, 'key')) return composed
  if (!form.isBatch || !hasField(form.type, 'batch')) return form.key.trim()
  return batchKeys(form.key).join('\n')
}

/** Sent only if it differs from the server's default. */
function keyMode({ type, key, isBatch, keyMode: mode }: ChannelForm): Partial<ChannelInput> {
  const isSaid = isBatch && key.trim() !== '' && hasField(type, 'batch')
  return isSaid && (mode === 'together' || mode === 'add') ? { key_mode: mode } : {}
}

export const batchKeys = (text: string): string[] => [...new Set(keyLines(text))]

/** Number of lines in a batch that repeat a key: they create no channel. */
export const repeatedKeys = (text: string): number => keyLines(text).length - batchKeys(text).length

/**
 * Keys without the parts that their type needs, or with spaces, as from several keys in one line.
 * They are sent anyway, because formats change.
 */
export function malformedKeys({ type, key, isBatch }: ChannelForm): string[] {
  const { parts, separator, sentWhole } = channelType(type).key
  const keys = isBatch ? batchKeys(key) : keyLines(key).slice(0, 1)
  if (parts.length === 1) return keys.filter((one) => /\s/.test(one))
  return keys.filter((one) => (sentWhole ? !one.includes(separator) : splitKey(type, one) === null))
}

/** A copy of the channel without its key, which cannot be read. */
export const copiedForm = (channel: Channel, name: string): ChannelForm => ({
  ...toForm(channel),
  name,
  isBatch: false,
  keyMode: 'each',
})

/** The form without secrets, for keeping it while signed out. */
export function withoutSecrets(form: ChannelForm): ChannelForm {
  const secrets = channelType(form.type).fields.filter(({ secret }) => secret)
  return {
    ...form,
    key: '',
    config: { ...form.config, ...Object.fromEntries(secrets.map(({ config }) => [config, ''])) },
    overrides: { ...newOverrides(), params: form.overrides.params },
  }
}

/** The form must be valid. `stored` is the configuration of the edited channel. */
export function toInput(form: ChannelForm, stored: string | null = null): Partial<ChannelInput> {
  const priority = wholeNumber(form.priority)
  const weight = wholeNumber(form.weight)
  const hasBaseUrl = channelType(form.type).baseUrlField.mode !== 'hidden'
  return {
    type: form.type,
    name: form.name.trim(),
    group: form.groups.join(','),
    base_url: hasBaseUrl ? trimBaseUrl(form.baseUrl) : '',
    key: keyText(form),
    ...keyMode(form),
    config: configText(form, stored),
    other: otherText(form),
    models: hasField(form.type, 'models') ? form.models.join(',') : '',
    model_mapping: hasField(form.type, 'model_mapping') ? form.mapping.trim() : '',
    system_prompt: hasField(form.type, 'system_prompt') ? form.systemPrompt : '',
    ...(priority === null ? {} : { priority }),
    ...(weight === null ? {} : { weight: Math.max(0, weight) }),
  }
}

/**
 * Only changed members: omitted ones stay unchanged, even if another user has changed them
 * meanwhile.
 */
export function toChanges(form: ChannelForm, before: Channel): Partial<ChannelInput> {
  const was = new Map(Object.entries(toInput(toForm(before), before.config)))
  const now = Object.entries(toInput(form, before.config))
  return Object.fromEntries(now.filter(([member, value]) => was.get(member) !== value))
}

/** A composed key consists of the type's fields. */
const isKeyComposed = (type: number): boolean => channelType(type).key.composedOf.length > 0

/** Whether a channel has a key; servers that do not report it require one. */
export const hasStoredKey = (channel: Channel): boolean => channel.key_set !== false

/**
 * Whether an edit changes where the channel sends its key. A stored key is only sent to the
 * destination for which it was entered, so it must be entered again.
 */
export function needsKeyAgain(form: ChannelForm, before: Channel | null): boolean {
  if (before === null || !hasStoredKey(before)) return false
  if (form.type !== before.type || form.overrides.proxy !== '') return true
  const { mode } = channelType(form.type).baseUrlField
  return mode !== 'hidden' && trimBaseUrl(form.baseUrl) !== trimBaseUrl(before.base_url ?? '')
}

/** Whether an empty secret member of `config` keeps a stored value. */
export function keepsSecret(
  form: ChannelForm,
  before: Channel | null,
  member: ConfigMember,
): boolean {
  const isSet = before?.config_set?.includes(member) === true
  return isSet && !needsKeyAgain(form, before)
}

/**
 * Whether this part of a composed key may stay empty if the first part is entered or stored. A
 * stored key is complete: if it has no second part, none is required.
 */
export function isOptionalPart(
  form: ChannelForm,
  before: Channel | null,
  member: ConfigMember,
): boolean {
  const [first, second] = channelType(form.type).key.composedOf
  if (first === undefined || member !== second) return false
  if (form.config[first].trim() === '') return keepsSecret(form, before, first)
  return sparedField(form.type, form.config) === member
}

/** Whether the key must be entered before submission. */
export function needsKey(form: ChannelForm, before: Channel | null): boolean {
  if (isKeyComposed(form.type) || !hasField(form.type, 'key')) return false
  return before === null || needsKeyAgain(form, before)
}

/** Whether the form is read-only: the channel's type is retired. */
export const isReadOnly = (form: ChannelForm, before: Channel | null): boolean =>
  before !== null && form.type === before.type && channelType(form.type).retired
