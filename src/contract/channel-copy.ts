import { channelType, type ChannelTypeField } from './channel-types.ts'

/**
 * What can be copied from one channel to others. Not in it: what a channel is known and paid by
 * (name, key and what it is composed of, the account's own identifiers), what is counted of it, and
 * where it sends its key (address, proxy): whoever changes that enters the key again.
 */

/** Members of `config` among them that only some types have. */
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

/** Comma lists; of them an empty one is never written. */
export const COPIED_LISTS: ReadonlySet<CopyField> = new Set<CopyField>(['models', 'group'])

/** How the type's own form asks for a field; undefined where every type has it, or none has. */
export function typeFieldOf(type: number, field: CopyField): ChannelTypeField | undefined {
  return channelType(type).fields.find(({ config }) => config === field)
}

const isTypeField = (field: CopyField): field is TypeField =>
  TYPE_FIELDS.some((member) => member === field)

/** Whether channels of a type have the field. */
export function hasCopyField(type: number, field: CopyField): boolean {
  if (isTypeField(field)) return typeFieldOf(type, field) !== undefined
  return !channelType(type).hiddenFields.some((hidden) => hidden === field)
}

/** Whether the field means the same at both types: those of a type are its own. */
export const isSharedField = (field: CopyField, from: number, to: number): boolean =>
  hasCopyField(from, field) && hasCopyField(to, field) && (!isTypeField(field) || from === to)
