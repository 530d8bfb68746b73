import type { CopyReport, LeftOut } from '../../../contract/channel-batch-api.ts'
import {
  COPIED_LISTS,
  isSharedField,
  typeFieldOf,
  type CopyField,
} from '../../../contract/channel-copy.ts'
import type { ChannelInput } from '../../../contract/channel-api.ts'
import { AUDIT_SECRET } from '../../../contract/audit.ts'
import { trimBaseUrl } from '../../../contract/channel-types.ts'
import { commaList } from '../../../contract/text.ts'
import { parseConfigObject } from '../channel-config.ts'
import { ABILITIES_MAX, tooMany } from '../channel-input.ts'
import { channelChanges, type ChannelChanges, type Checked } from '../channel.ts'
import type { StoredChannel } from '../channel-store.ts'

/** Effect of a copy on one channel. */
export interface PlannedCopy {
  target: StoredChannel
  /** Only fields whose value changes. */
  changes: ChannelChanges
  report: CopyReport['targets'][number]
}

/** Input members that hold a field of the channel itself. */
const COLUMNS = {
  models: 'text',
  model_mapping: 'text',
  group: 'text',
  system_prompt: 'text',
  test_model: 'text',
  priority: 'number',
  weight: 'number',
} as const
type Column = keyof typeof COLUMNS

const isColumn = (field: CopyField): field is Column => Object.hasOwn(COLUMNS, field)

/** Returns a member of `config`; older programs stored the single field of a type in `other`. */
function configValue(channel: StoredChannel, field: CopyField): unknown {
  const value = (parseConfigObject(channel.config) ?? {})[field] ?? ''
  const isInOther = value === '' && typeFieldOf(channel.type, field)?.alsoOther === true
  return isInOther ? (channel.other ?? '') : value
}

/** Returns a field as text, for comparison. */
function fieldText(channel: StoredChannel, field: CopyField): string {
  if (COPIED_LISTS.has(field)) return commaList(String(valueOf(channel, field) ?? '')).join(',')
  const value = valueOf(channel, field)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function valueOf(channel: StoredChannel, field: CopyField): unknown {
  if (!isColumn(field)) return configValue(channel, field)
  return channel[field] ?? (COLUMNS[field] === 'number' ? 0 : '')
}

/** Returns a field as text, for display. */
function shownText(channel: StoredChannel, field: CopyField): string {
  const text = fieldText(channel, field)
  return field === 'header_override' && text !== '' ? AUDIT_SECRET : text
}

/** Returns the input of an edit that would set these fields to the source's values. */
function inputOf(source: StoredChannel, fields: readonly CopyField[]): ChannelInput {
  const input: Record<string, unknown> = {}
  const config: Record<string, unknown> = {}
  for (const field of fields) {
    const value = valueOf(source, field)
    if (isColumn(field)) input[field] = value
    // Null removes the member if the source lacks it.
    else config[field] = value === '' ? null : value
    if (typeFieldOf(source.type, field)?.alsoOther === true) input['other'] = value
  }
  if (Object.keys(config).length > 0) input['config'] = JSON.stringify(config)
  // Texts and numbers of a channel's own columns, each under its name in an edit.
  return input as ChannelInput
}

/** Destination of a channel's secrets; channels with the same one may share them. */
const placeOf = ({ type, base_url, config }: StoredChannel): string =>
  JSON.stringify([type, trimBaseUrl(base_url ?? ''), parseConfigObject(config)?.['proxy'] ?? ''])

function whyNot(source: StoredChannel, target: StoredChannel, field: CopyField): LeftOut | null {
  if (!isSharedField(field, source.type, target.type)) return 'type'
  const text = fieldText(source, field)
  if (COPIED_LISTS.has(field) && text === '') return 'empty'
  // Secret headers are only copied to the destination they were entered for; otherwise they could
  // be read elsewhere.
  const isSecret = field === 'header_override' && text !== ''
  return isSecret && placeOf(source) !== placeOf(target) ? 'place' : null
}

function plannedCopy(
  source: StoredChannel,
  target: StoredChannel,
  fields: readonly CopyField[],
): Checked<PlannedCopy> {
  const left_out = fields.flatMap((field) => {
    const why = whyNot(source, target, field)
    return why === null ? [] : [{ field, why }]
  })
  const copied = fields.filter((field) => left_out.every((one) => one.field !== field))
  const checked = channelChanges(target, inputOf(source, copied))
  if (!checked.ok) return checked
  const after = { ...target, ...checked.value }
  const changed = copied.filter((field) => fieldText(target, field) !== fieldText(after, field))
  const changes = changed.map((field) => ({ field, before: shownText(target, field) }))
  const { id, name, type } = target
  const report = { id, name: name ?? '', type, changes, left_out }
  return { ok: true, value: { target, changes: checked.value, report } }
}

/** Returns the changes of each target, or the first refusal. The source is not a target. */
export function plannedCopies(
  source: StoredChannel,
  targets: readonly StoredChannel[],
  asked: readonly CopyField[],
): Checked<PlannedCopy[]> {
  const fields = [...new Set(asked)]
  const copies: PlannedCopy[] = []
  let abilities = 0
  for (const target of targets) {
    if (target.id === source.id) continue
    const checked = plannedCopy(source, target, fields)
    if (!checked.ok) return checked
    const copy = checked.value
    copies.push(copy)
    if (copy.report.changes.length > 0) abilities += abilitiesOf({ ...target, ...copy.changes })
  }
  if (abilities > ABILITIES_MAX) {
    return { ok: false, refusal: tooMany('models × group × ids', ABILITIES_MAX) }
  }
  return { ok: true, value: copies }
}

const abilitiesOf = ({ models, group }: StoredChannel): number =>
  commaList(models).length * Math.max(1, commaList(group).length)

/** Returns the values of the fields at the source. */
export const copiedValues = (
  source: StoredChannel,
  fields: readonly CopyField[],
): CopyReport['values'] =>
  [...new Set(fields)].map((field) => ({ field, value: shownText(source, field) }))
