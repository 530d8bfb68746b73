import { isOptionKey, optionRows } from '../../../contract/option/options.ts'
import { localText } from '../i18n.ts'

/** What the settings page calls an option; null for one that a newer server has. */
export const optionTitle = (key: string): string | null =>
  isOptionKey(key) ? localText(optionRows[key].title) : null
