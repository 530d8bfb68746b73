import { arrayOr, recordOr, type JsonRecord } from '../json/json-value.ts'
import { fetchEach, jsonAnswer, recordIn, unusable } from '../transport/json-steps.ts'
import type { StepAnswer, Walk } from '../transport/upstream-steps.ts'

/** More texts than an upstream takes at once: they are sent in several calls. */

export const inParts = <T>(values: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  )

/** The sum, or null when one of them is no count. */
export function sumOfCounts(counts: readonly unknown[]): number | null {
  let sum = 0
  for (const count of counts) {
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return null
    sum += count
  }
  return sum
}

/** The calls of an upstream of OpenAI's dialect. `size`: how many texts it takes at once. */
export const embeddedInParts =
  (size: (model: string) => number): Walk =>
  async (steps, request) => {
    const body = recordIn(request)
    const texts = arrayOr(body.input)
    const most = size(String(body.model))
    // A list of numbers is one text, said in a model's own tokens.
    if (texts.length <= most || texts.some((text) => typeof text !== 'string')) {
      return steps.fetch(request)
    }
    const bodies = inParts(texts, most).map((input) => ({ ...body, input }))
    const fetched = await fetchEach(steps, request, bodies)
    return 'refused' in fetched ? fetched.refused : joined(fetched.answers, texts.length)
  }

function joined(answers: JsonRecord[], count: number): StepAnswer {
  const data = answers
    .flatMap((answer) => arrayOr(answer.data))
    .map((item, index) => ({ ...recordOr(item), index }))
  if (data.length !== count) return unusable('a text has no vector')
  const tokens = sumOfCounts(answers.map(({ usage }) => recordOr(usage).total_tokens))
  const usage = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }
  return jsonAnswer({ ...answers[0], data, ...usage })
}
