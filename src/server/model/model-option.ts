import type { OptionSpec } from '../option/option-value.ts'
import { parseOperatorEntries } from './operator-entries.ts'

const TEXT_MAX = 500_000

/** Specification of the option `ModelCapabilities`; empty without entries. */
export const modelCapabilities = (row: { default: string }): OptionSpec => ({
  default: row.default,
  check(text) {
    if (text.length > TEXT_MAX) {
      return { zh: `最多 ${TEXT_MAX} 个字符`, en: `it must have at most ${TEXT_MAX} characters` }
    }
    const parsed = parseOperatorEntries(text)
    return Array.isArray(parsed) ? null : parsed
  },
})
