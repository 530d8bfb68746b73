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

/** What copying does to one channel. */
export interface PlannedCopy {
  target: StoredChannel
  /** Written only where a field becomes another. */
  changes: ChannelChanges
  report: CopyReport['targets'][number]
}

/** The members of an input that carry a field to a channel of the source's own kind. */
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

/** A member of `config`; `other` is where older programs kept the one field of a type. */
function configValue(channel: StoredChannel, field: CopyField): unknown {
  const value = (parseConfigObject(channel.config) ?? {})[field] ?? ''
  const isInOther = value === '' && typeFieldOf(channel.type, field)?.alsoOther === true
  return isInOther ? (channel.other ?? '') : value
}

/** A field as text, so that two channels can be compared by it. */
function fieldText(channel: StoredChannel, field: CopyField): string {
  if (COPIED_LISTS.has(field)) return commaList(String(valueOf(channel, field) ?? '')).join(',')
  const value = valueOf(channel, field)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function valueOf(channel: StoredChannel, field: CopyField): unknown {
  if (!isColumn(field)) return configValue(channel, field)
  return channel[field] ?? (COLUMNS[field] === 'number' ? 0 : '')
}

/** The same for people to read. */
function shownText(channel: StoredChannel, field: CopyField): string {
  const text = fieldText(channel, field)
  return field === 'header_override' && text !== '' ? AUDIT_SECRET : text
}

/** What an edit would be sent that gives a channel these fields of the source. */
function inputOf(source: StoredChannel, fields: readonly CopyField[]): ChannelInput {
  const input: Record<string, unknown> = {}
  const config: Record<string, unknown> = {}
  for (const field of fields) {
    const value = valueOf(source, field)
    if (isColumn(field)) input[field] = value
    // Taken away where the source has none.
    else config[field] = value === '' ? null : value
    if (typeFieldOf(source.type, field)?.alsoOther === true) input['other'] = value
  }
  if (Object.keys(config).length > 0) input['config'] = JSON.stringify(config)
  // Texts and numbers of a channel's own columns, each under the name that an edit gives it.
  return input as ChannelInput
}

/** Where a channel sends its secrets: two that agree in it may know each other's. */
const placeOf = ({ type, base_url, config }: StoredChannel): string =>
  JSON.stringify([type, trimBaseUrl(base_url ?? ''), parseConfigObject(config)?.['proxy'] ?? ''])

function whyNot(source: StoredChannel, target: StoredChannel, field: CopyField): LeftOut | null {
  if (!isSharedField(field, source.type, target.type)) return 'type'
  const text = fieldText(source, field)
  if (COPIED_LISTS.has(field) && text === '') return 'empty'
  // Secret headers go only where they were entered for: elsewhere somebody could read them.
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

/** What copying the fields does to each target, or why to none. The source is no target. */
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

/** What the fields are at the source. */
export const copiedValues = (
  source: StoredChannel,
  fields: readonly CopyField[],
): CopyReport['values'] =>
  [...new Set(fields)].map((field) => ({ field, value: shownText(source, field) }))
