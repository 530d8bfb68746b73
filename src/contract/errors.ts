import { accountErrors } from './account-errors.ts'
import { callErrors } from './call-errors.ts'
import { channelErrors } from './channel-errors.ts'
import type { Words } from './channel-type-row.ts'
import { limitErrors } from './limit-errors.ts'
import { recordErrors } from './record-errors.ts'
import { relayErrors } from './relay-errors.ts'
import { withoutTrailing } from './text.ts'

export type Language = 'zh' | 'en'

/**
 * All errors of the API by code. Each area has a table with the message in both languages. The
 * relay responds with `status`; the management API responds with 200 and `success: false`, as its
 * clients expect, except for errors marked `real`.
 */
export const errors = {
  ...callErrors,
  ...accountErrors,
  ...recordErrors,
  ...channelErrors,
  ...relayErrors,
  ...limitErrors,
}

export type ErrorCode = keyof typeof errors
/** A value with a name of its own in each language is given in both, such as a channel type. */
export type ErrorParams = Readonly<Record<string, string | number | Words>>

/** An error as data: its code and the parameters of its message. */
export interface Refusal {
  code: ErrorCode
  params?: ErrorParams
}

/**
 * Returns the message of an error with its placeholders filled. A value may begin and end with
 * spaces that separate it from Chinese text; at the ends of the message and beside another space
 * they are dropped.
 */
export function errorText(code: ErrorCode, language: Language, params: ErrorParams = {}): string {
  const fill = (whole: string, before: string, name: string, after: string) => {
    const value = params[name]
    if (value === undefined) return whole
    const text = typeof value === 'object' ? value[language] : value
    return oneBlankAround(`${before}${text}${after}`)
  }
  return errors[code][language].replace(/( ?)\{(\w+)\}( ?)/g, fill).trim()
}

/** Collapses the spaces at either end of the text to one. */
function oneBlankAround(text: string): string {
  const begun = text.replace(/^ +/, ' ')
  return begun.endsWith(' ') ? `${withoutTrailing(begun, ' ')} ` : begun
}

/** Returns the first language in `Accept-Language`; null if the header is missing, empty or `*`. */
export function namedLanguage(acceptLanguage: string | undefined): Language | null {
  const first = acceptLanguage?.split(/[,;]/)[0]?.trim().toLowerCase() ?? ''
  if (first === '' || first === '*') return null
  return first.startsWith('zh') ? 'zh' : 'en'
}

/** Returns the language of responses: Chinese unless `Accept-Language` begins with another language. */
export const languageOf = (acceptLanguage: string | undefined): Language =>
  namedLanguage(acceptLanguage) ?? 'zh'
