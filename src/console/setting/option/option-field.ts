import { optionKeys, optionRows, type OptionKey } from '../../../contract/option/options.ts'
import {
  optionGroupIds,
  optionGroups,
  type OptionGroupId,
} from '../../../contract/option/option-groups.ts'
import type { OptionRow } from '../../../contract/option/option-row.ts'
import type { Words } from '../../../contract/channel-type-row.ts'
import { DEFAULT_GROUP } from '../../../contract/user.ts'
import { localText, mark } from '../../app/i18n.ts'
import { misfitOf, readRatioText, sentRatios } from '../ratio/ratio-text.ts'
import { withoutTrailing } from '../../../contract/text.ts'

/** An option as a form field. */
export type OptionField = OptionRow<OptionKey> & { key: OptionKey }

export type FieldOf<Kind extends OptionRow['kind']> = Extract<OptionField, { kind: Kind }>

/** A form with its texts, and the options of its group in order. */
export interface OptionGroup {
  id: OptionGroupId
  title: Words
  save: Words
  fields: readonly OptionField[]
}

export const optionField = (key: OptionKey): OptionField => ({ ...optionRows[key], key })

export const optionGroup = (id: OptionGroupId): OptionGroup => ({
  id,
  ...optionGroups[id],
  fields: optionKeys.filter((key) => optionRows[key].group === id).map(optionField),
})

/** The groups of a settings page, in order. */
export const groupsOn = (page: (typeof optionGroups)[OptionGroupId]['page']): OptionGroup[] =>
  optionGroupIds.filter((id) => optionGroups[id].page === page).map(optionGroup)

export const isRatios = (kind: OptionField['kind']): boolean =>
  kind === 'ratios' || kind === 'groupRatios'

export interface FieldProblem {
  text: string
  values?: Record<string, number | string>
  /** Another option that the message names. */
  needed?: OptionKey
  /** The message itself names the field. */
  namesField?: true
}

/** Error of an entered value; null if it is valid. `isFilled` checks other options. */
export function fieldProblem(
  field: OptionField,
  text: string,
  isFilled: (key: OptionKey) => boolean,
): FieldProblem | null {
  switch (field.kind) {
    case 'flag':
      return isOn(text) ? needProblem(field, isFilled) : null
    case 'number':
      return numberProblem(field, text)
    case 'address':
      return text.trim() === '' || /^https?:\/\/[^\s/]/i.test(text.trim())
        ? null
        : { text: mark('需要以 http:// 或 https:// 开头的地址，例如 https://example.com') }
    case 'ratios':
    case 'groupRatios':
      return ratioProblem(field, text)
    default:
      return null
  }
}

function needProblem(
  { needs, needsInForm = [] }: FieldOf<'flag'>,
  isFilled: (key: OptionKey) => boolean,
): FieldProblem | null {
  const needed = [...(needs === undefined ? [] : [needs]), ...needsInForm].find(
    (key) => !isFilled(key),
  )
  return needed === undefined ? null : { text: mark('打开前，请先填写「{{needed}}」'), needed }
}

function ratioProblem(field: OptionField, text: string): FieldProblem | null {
  const read = readRatioText(text)
  if (read !== null) {
    const isKept = field.kind !== 'groupRatios' || read.ratios.has(DEFAULT_GROUP)
    return isKept
      ? null
      : { text: mark('不能缺少「{{name}}」，新用户都在此分组'), values: { name: DEFAULT_GROUP } }
  }
  if (!isJson(text)) {
    const values = { name: localText(field.title) }
    return { text: mark('{{name}}不是有效的 JSON'), values, namesField: true }
  }
  const name = misfitOf(text)
  return name === null
    ? { text: mark('需要名称到数字的 JSON 对象，例如 {"gpt-4o": 1.25}') }
    : { text: mark('「{{name}}」的值需要是不小于 0 的数'), values: { name } }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function numberProblem({ min, max, step }: FieldOf<'number'>, text: string): FieldProblem | null {
  const number = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN
  const isWhole = step % 1 === 0
  if (number >= min && number <= max && (!isWhole || Number.isInteger(number))) return null
  return {
    text: isWhole
      ? mark('需要 {{min}} 到 {{max}} 之间的整数')
      : mark('需要 {{min}} 到 {{max}} 之间的数'),
    values: { min, max },
  }
}

/** Normalizes a value for sending and for comparison with the saved one. */
export function sentValue(field: OptionField, text: string): string {
  switch (field.kind) {
    case 'address':
      return field.isBase === true ? withoutTrailing(text.trim(), '/') : text.trim()
    case 'ratios':
    case 'groupRatios':
      return sentRatios(text)
    case 'secret':
    case 'longText':
    case 'usableGroups':
    case 'priceTiers':
    case 'modelCapabilities':
      return text
    default:
      return text.trim()
  }
}

/** A change to send. */
export interface OptionChange {
  field: OptionField
  value: string
}

/**
 * Differences from the saved values, in an order that the server accepts: first switches that are
 * turned off, then values, then switches that are turned on. The server rejects a switch without
 * its values, and an empty value for an active switch. A secret follows its address, because a new
 * address clears the old secret. Saved secrets are unknown, so every edited one is sent.
 */
export function changesOf(
  fields: readonly OptionField[],
  edits: Readonly<Record<string, string>>,
  saved: (key: string) => string,
): OptionChange[] {
  const changes = fields.flatMap((field) => {
    const edit = edits[field.key]
    if (edit === undefined) return []
    const value = sentValue(field, edit)
    const isSame = field.kind !== 'secret' && value === sentValue(field, saved(field.key))
    return isSame ? [] : [{ field, value }]
  })
  const turn = ({ field, value }: OptionChange): number => {
    if (field.kind === 'flag') return value === 'true' ? 3 : 0
    return field.kind === 'secret' ? 2 : 1
  }
  return changes.toSorted((a, b) => turn(a) - turn(b))
}

const keptDays = (text: string): number => Number(text) || Infinity

/** Confirmations before saving changes that delete stored data. */
export function questionsOf(
  changes: readonly OptionChange[],
  saved: (key: string) => string,
): { what: Words; count: number }[] {
  return changes.flatMap(({ field, value }) => {
    if (field.kind !== 'number' || field.deletes === undefined) return []
    const isFewer = keptDays(value) < keptDays(saved(field.key))
    return isFewer ? [{ what: field.deletes, count: Number(value) }] : []
  })
}

/** An option that was never saved is empty and counts as off. */
export const isOn = (value: string): boolean => value === 'true'

/** A public email domain: labels separated by dots. */
export const isDomain = (text: string): boolean => /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+$/u.test(text)

/**
 * Domains of a comma list, with or without a leading @; without empty ones and duplicates, ignoring
 * case.
 */
export const domainsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(/[,，\s]/)
      .map((domain) => domain.replace(/^@/, '').toLowerCase())
      .filter((domain) => domain !== ''),
  ),
]
