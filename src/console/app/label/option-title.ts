import { isOptionKey, optionRows } from '../../../contract/option/options.ts'
import { localText } from '../i18n.ts'

/** Title of an option on the settings page; null for an option of a newer server. */
export const optionTitle = (key: string): string | null =>
  isOptionKey(key) ? localText(optionRows[key].title) : null
