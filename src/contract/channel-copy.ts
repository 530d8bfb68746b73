import { channelType, type ChannelTypeField } from './channel-types.ts'

/**
 * Fields that can be copied from one channel to others. Excluded are identity and payment (name,
 * key and its parts, account identifiers), counters, and where the key is sent (address, proxy): a
 * change of these requires the key again.
 */

/** Members of `config` among the copied fields that only some types have. */
const TYPE_FIELDS = ['api_version', 'deployment_dots', 'plugin', 'library_id'] as const
type TypeField = (typeof TYPE_FIELDS)[number]

export const COPY_FIELDS = [
  'models',
  'model_mapping',
  'group',
  'priority',
  'weight',
  'system_prompt',
  'test_model',
  'param_override',
  'header_override',
  ...TYPE_FIELDS,
] as const
export type CopyField = (typeof COPY_FIELDS)[number]

/** Comma lists. An empty one is not copied. */
export const COPIED_LISTS: ReadonlySet<CopyField> = new Set<CopyField>(['models', 'group'])

/**
 * Returns the field as the form of the type declares it; undefined if every type has it or this one
 * does not.
 */
export function typeFieldOf(type: number, field: CopyField): ChannelTypeField | undefined {
  return channelType(type).fields.find(({ config }) => config === field)
}

const isTypeField = (field: CopyField): field is TypeField =>
  TYPE_FIELDS.some((member) => member === field)

/** Whether channels of this type have the field. */
export function hasCopyField(type: number, field: CopyField): boolean {
  if (isTypeField(field)) return typeFieldOf(type, field) !== undefined
  return !channelType(type).hiddenFields.some((hidden) => hidden === field)
}

/**
 * Whether the field means the same for both types. Fields that a type declares mean the same only
 * within that type.
 */
export const isSharedField = (field: CopyField, from: number, to: number): boolean =>
  hasCopyField(from, field) && hasCopyField(to, field) && (!isTypeField(field) || from === to)
