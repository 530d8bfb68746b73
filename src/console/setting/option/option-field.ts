import { mark } from '../../app/i18n.ts'
import { misfitOf, readRatioText, sentRatios } from '../ratio/ratio-text.ts'
import { withoutTrailing } from '../../../contract/text.ts'

/** One option as a field of a form. Texts are Chinese; translated where shown. */
export type OptionField = OptionText & {
  key: string
  /** Only our server has it; elsewhere the field is left out. */
  isOurs?: true
} & OptionKind

interface OptionText {
  label: string
  hint?: string
  placeholder?: string
}

type OptionKind =
  | {
      kind: 'text'
      /** The address of a picture, which is shown under the field once it is saved. */
      isPicture?: true
    }
  | { kind: 'secret' }
  | { kind: 'domains' }
  | {
      kind: 'address'
      /** Paths are put behind it: it ends without a slash. */
      isBase?: true
    }
  | {
      kind: 'number'
      min: number
      max: number
      step: number
      unit?: string
      isQuota?: true
      /** Days that something is kept for, 0 always: what is asked before fewer are saved. */
      confirmFewer?: string
    }
  | {
      kind: 'toggle'
      confirmOff?: { question: string; label: string }
      /** Options that must hold something before this is turned on, by what they are called. */
      needs?: Readonly<Record<string, string>>
    }
  | { kind: 'long'; rows: number; isCode?: true }
  | { kind: 'choice'; options: readonly { value: string; label: string }[] }
  | {
      kind: 'ratios'
      /** Says that this very field holds no JSON; absent: the sentence of any field. */
      invalid?: string
      /** A name that may not be left out, and the sentence that says so. */
      keeps?: { name: string; sentence: string }
    }

export interface OptionGroup {
  id: string
  title: string
  saveLabel: string
  fields: readonly OptionField[]
}

export interface FieldProblem {
  text: string
  values?: Record<string, number | string>
  /** The label of another field that the sentence names. */
  needed?: string
  /** The sentence says by itself which field it is about. */
  namesField?: true
}

/** What is wrong with a typed value; null: it can be sent. `isFilled`: of other options. */
export function fieldProblem(
  field: OptionField,
  text: string,
  isFilled: (key: string) => boolean,
): FieldProblem | null {
  switch (field.kind) {
    case 'toggle':
      return isOn(text) ? needProblem(field, isFilled) : null
    case 'number':
      return numberProblem(field, text)
    case 'address':
      return text.trim() === '' || /^https?:\/\/[^\s/]/i.test(text.trim())
        ? null
        : { text: mark('需要以 http:// 或 https:// 开头的地址，例如 https://example.com') }
    case 'ratios':
      return ratioProblem(field, text)
    default:
      return null
  }
}

function needProblem(
  { needs = {} }: Extract<OptionField, { kind: 'toggle' }>,
  isFilled: (key: string) => boolean,
): FieldProblem | null {
  const [, needed] = Object.entries(needs).find(([key]) => !isFilled(key)) ?? []
  return needed === undefined ? null : { text: mark('打开前，请先填写「{{needed}}」'), needed }
}

function ratioProblem(
  { invalid, keeps }: Extract<OptionField, { kind: 'ratios' }>,
  text: string,
): FieldProblem | null {
  const read = readRatioText(text)
  if (read !== null) {
    const isKept = keeps === undefined || read.ratios.has(keeps.name)
    return isKept ? null : { text: keeps.sentence, values: { name: keeps.name } }
  }
  if (!isJson(text)) {
    return invalid === undefined
      ? { text: mark('不是有效的 JSON，例如 {"gpt-4o": 1.25}') }
      : { text: invalid, namesField: true }
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

function numberProblem(
  { min, max, step }: Extract<OptionField, { kind: 'number' }>,
  text: string,
): FieldProblem | null {
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

/** A value as it is sent, and compared with what is saved. */
export function sentValue(field: OptionField, text: string): string {
  switch (field.kind) {
    case 'address':
      return field.isBase === true ? withoutTrailing(text.trim(), '/') : text.trim()
    case 'ratios':
      return sentRatios(text)
    case 'text':
    case 'number':
      return text.trim()
    default:
      return text
  }
}

/** One change to be sent. */
export interface OptionChange {
  field: OptionField
  value: string
}

/**
 * What differs from what is saved, in the order it can be sent: what is turned off first, then
 * values, then what is turned on, because a switch is refused as long as its values are missing,
 * and values cannot be emptied under a switch. A secret comes after its address, with which the one
 * before it goes. Of secrets the saved value is not known; each that was touched is sent.
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
    if (field.kind === 'toggle') return value === 'true' ? 3 : 0
    return field.kind === 'secret' ? 2 : 1
  }
  return changes.toSorted((a, b) => turn(a) - turn(b))
}

const keptDays = (text: string): number => Number(text) || Infinity

/** What is asked before changes are saved that delete what was kept so far. */
export function questionsOf(
  changes: readonly OptionChange[],
  saved: (key: string) => string,
): { text: string; count: number }[] {
  return changes.flatMap(({ field, value }) => {
    if (field.kind !== 'number' || field.confirmFewer === undefined) return []
    const isFewer = keptDays(value) < keptDays(saved(field.key))
    return isFewer ? [{ text: field.confirmFewer, count: Number(value) }] : []
  })
}

/** What an empty option counts as where none was ever saved. */
export const isOn = (value: string): boolean => value === 'true'

/** A public mail domain: words with a dot between. */
export const isDomain = (text: string): boolean => /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+$/u.test(text)

/**
 * The domains of a comma list, with or without the @ before them; empty and repeated ones are left
 * out, in whatever case.
 */
export const domainsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(/[,，\s]/)
      .map((domain) => domain.replace(/^@/, '').toLowerCase())
      .filter((domain) => domain !== ''),
  ),
]
