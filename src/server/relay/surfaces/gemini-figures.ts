import { GeminiStreamReader, readGeminiAnswer } from '../protocols/gemini/read-answer.ts'
import { dialects } from '../conversion/dialects.ts'
import type { Metering, RequestFigures, FieldProblem } from '../protocols/dialect/surface.ts'
import { declaredSearch, type DeclaredSearch } from '../protocols/gemini/searches.ts'
import { ASKED_TOKENS_MAX } from '../protocols/canonical/token-usage.ts'
import { TWICE, spelling } from '../protocols/gemini/names.ts'
import { type ScannedBody, memberObject, memberValue } from '../json/body-scan.ts'

/** The parts of a Gemini request that determine the price and the response format. */

const CANDIDATES_MAX = 8

const CONFIG_TWICE = [
  ['maxOutputTokens', 'max_output_tokens'],
  ['candidateCount', 'candidate_count'],
] as const

export function geminiFigures(
  body: ScannedBody,
  { required, model }: { required: string; model: string },
): RequestFigures | FieldProblem {
  const names = TWICE.map((pair) => spelling(body, pair))
  const problem = names.find((name) => typeof name !== 'string')
  if (problem !== undefined) return problem
  const config = memberObject(body, String(names[0]))
  const limit = config === null ? null : figure(config, CONFIG_TWICE[0], ASKED_TOKENS_MAX)
  if (typeof limit === 'object' && limit !== null) return limit
  const choices = config === null ? null : figure(config, CONFIG_TWICE[1], CANDIDATES_MAX)
  if (typeof choices === 'object' && choices !== null) return choices
  if (isEmptyMember(body, required)) return { field: required, isMissing: true }
  const declared = declaredSearch(body, model)
  return {
    // Some clients send a limit of 0 for "no limit".
    maxCompletionTokens: limit ? limit * Math.max(1, choices ?? 1) : null,
    ...(choices === null || choices <= 1 ? {} : { replies: choices }),
    isStream: false,
    wantsUsage: true,
    ...(declared === null ? {} : { searched: () => searchedBy(declared) }),
  }
}

/** Measures searches; data missing from the response is taken from the request. */
function searchedBy({ asked, extras }: DeclaredSearch): Metering {
  const { gemini } = dialects
  const reading: Metering['reading'] = {
    ...gemini,
    readAnswer: (bytes) => readGeminiAnswer(bytes, asked),
    readStream: () => new GeminiStreamReader(asked),
  }
  return { estimate: null, extras, reading }
}

function figure(
  config: ScannedBody,
  names: readonly [string, string],
  max: number,
): number | null | FieldProblem {
  const name = spelling(config, names)
  if (typeof name !== 'string') return { field: `generationConfig.${name.field}`, isMissing: false }
  const value = memberValue(config, name) ?? null
  if (value === null) return null
  const isFigure =
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max
  return isFigure ? value : { field: `generationConfig.${name}`, isMissing: false }
}

function isEmptyMember(body: ScannedBody, name: string): boolean {
  const value = memberValue(body, name) ?? null
  return value === null || (Array.isArray(value) && value.length === 0)
}
