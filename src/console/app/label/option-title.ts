import { isOptionKey, optionRows } from '../../../contract/option/options.ts'
import { localText } from '../i18n.ts'

/** Title of an option on the settings page; null for an option of a newer server. */
export const optionTitle = (key: string): string | null =>
  isOptionKey(key) ? localText(optionRows[key].title) : null

/** Title of an option's value on the settings page; null if the option is not a choice. */
export function choiceTitle(key: string, value: unknown): string | null {
  const row = isOptionKey(key) ? optionRows[key] : undefined
  if (row === undefined || !('choices' in row)) return null
  const choice = row.choices.find((one) => one.value === value)
  return choice === undefined ? null : localText(choice.title)
}

export const isFlagOption = (key: string): boolean =>
  isOptionKey(key) && optionRows[key].kind === 'flag'
