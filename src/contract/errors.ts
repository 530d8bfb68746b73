import { accountErrors } from './account-errors.ts'
import { callErrors } from './call-errors.ts'
import { channelErrors } from './channel-errors.ts'
import { limitErrors } from './limit-errors.ts'
import { recordErrors } from './record-errors.ts'
import { relayErrors } from './relay-errors.ts'
import { withoutTrailing } from './text.ts'

export type Language = 'zh' | 'en'

/**
 * Every refusal has a name, and its sentence stands once, in both languages, in the table of its
 * area. `status` is what the relay (and the few management calls with true statuses) answers; the
 * management API answers other refusals with 200 and `success: false`, as its clients expect.
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
export type ErrorParams = Readonly<Record<string, string | number>>

/** A refusal as data: its name and what fills its sentence. */
export interface Refusal {
  code: ErrorCode
  params?: ErrorParams
}

/**
 * The sentence of a code in a language, with its places filled. What fills one may bring the blanks
 * that set it off from Chinese; beside a blank of the sentence, or at its end, they go.
 */
export function errorText(code: ErrorCode, language: Language, params: ErrorParams = {}): string {
  const fill = (whole: string, before: string, name: string, after: string) =>
    Object.hasOwn(params, name) ? oneBlankAround(`${before}${params[name]}${after}`) : whole
  return errors[code][language].replace(/( ?)\{(\w+)\}( ?)/g, fill).trim()
}

/** The text with one blank at most at either end. */
function oneBlankAround(text: string): string {
  const begun = text.replace(/^ +/, ' ')
  return begun.endsWith(' ') ? `${withoutTrailing(begun, ' ')} ` : begun
}

/** The language that the caller names first in `Accept-Language`; null if it names none, or any. */
export function namedLanguage(acceptLanguage: string | undefined): Language | null {
  const first = acceptLanguage?.split(/[,;]/)[0]?.trim().toLowerCase() ?? ''
  if (first === '' || first === '*') return null
  return first.startsWith('zh') ? 'zh' : 'en'
}

/** Chinese unless the caller names another language first. */
export const languageOf = (acceptLanguage: string | undefined): Language =>
  namedLanguage(acceptLanguage) ?? 'zh'
