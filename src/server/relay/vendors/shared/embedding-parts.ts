import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'
import { inPlace } from '../../protocols/canonical/embedding.ts'
import { fetchEach, jsonAnswer, recordIn, unusable } from '../../transport/json-steps.ts'
import type { StepAnswer, Walk } from '../../transport/upstream-steps.ts'

/** Splits more texts than an upstream accepts per request into several requests. */

export const inParts = <T>(values: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  )

/** Returns the sum; null if any value is not a valid count. */
export function sumOfCounts(counts: readonly unknown[]): number | null {
  let sum = 0
  for (const count of counts) {
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return null
    sum += count
  }
  return sum
}

/** How an upstream accepts texts, and how its responses are joined. */
interface Parting {
  /** Member of a request that contains the texts. */
  member: string
  /** Maximum number of texts per request. */
  most: (request: JsonRecord) => number
  join: (answers: JsonRecord[], count: number) => StepAnswer
}

export const textsInParts =
  ({ member, most, join }: Parting): Walk =>
  async (steps, request) => {
    const body = recordIn(request)
    const texts = arrayOr(body[member])
    const size = most(body)
    // A list of numbers is a single text, as token numbers of the model.
    if (texts.length <= size || typeof texts[0] === 'number') return steps.fetch(request)
    const bodies = inParts(texts, size).map((part) => ({ ...body, [member]: part }))
    const fetched = await fetchEach(steps, request, bodies)
    return 'refused' in fetched ? fetched.refused : join(fetched.answers, texts.length)
  }

/** Walk for an upstream of OpenAI's dialect. `size`: maximum number of texts per request. */
export const embeddedInParts = (size: (model: string) => number): Walk =>
  textsInParts({ member: 'input', most: ({ model }) => size(String(model)), join: joined })

function joined(answers: JsonRecord[], count: number): StepAnswer {
  // Some upstreams report an error with status 200.
  const refusal = answers.find(({ data }) => !Array.isArray(data))
  if (refusal !== undefined) return jsonAnswer(refusal)
  const data = answers
    .flatMap((answer) => inPlace(arrayOr(answer.data), 'index'))
    .map((item, index) => ({ ...item, index }))
  if (data.length !== count) return unusable('a text has no vector')
  const tokens = sumOfCounts(answers.map(tokensIn))
  const usage = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }
  // Usage of the first part alone is dropped: it does not apply to the whole.
  const { usage: _ofPart, ...first } = recordOr(answers[0])
  return jsonAnswer({ ...first, data, ...usage })
}

function tokensIn({ usage }: JsonRecord): unknown {
  const { total_tokens: total, prompt_tokens: prompt } = recordOr(usage)
  return total ?? prompt
}
