import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'
import { inPlace } from '../../protocols/canonical/embedding.ts'
import { fetchEach, jsonAnswer, recordIn, unusable } from '../../transport/json-steps.ts'
import type { StepAnswer, Walk } from '../../transport/upstream-steps.ts'

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

/** How an upstream takes texts, and how its answers become one. */
interface Parting {
  /** The member of a request that holds the texts. */
  member: string
  /** How many it takes at once. */
  most: (request: JsonRecord) => number
  join: (answers: JsonRecord[], count: number) => StepAnswer
}

export const textsInParts =
  ({ member, most, join }: Parting): Walk =>
  async (steps, request) => {
    const body = recordIn(request)
    const texts = arrayOr(body[member])
    const size = most(body)
    // A list of numbers is one text, said in a model's own tokens.
    if (texts.length <= size || typeof texts[0] === 'number') return steps.fetch(request)
    const bodies = inParts(texts, size).map((part) => ({ ...body, [member]: part }))
    const fetched = await fetchEach(steps, request, bodies)
    return 'refused' in fetched ? fetched.refused : join(fetched.answers, texts.length)
  }

/** The calls of an upstream of OpenAI's dialect. `size`: how many texts it takes at once. */
export const embeddedInParts = (size: (model: string) => number): Walk =>
  textsInParts({ member: 'input', most: ({ model }) => size(String(model)), join: joined })

function joined(answers: JsonRecord[], count: number): StepAnswer {
  // Some refuse with a good status.
  const refusal = answers.find(({ data }) => !Array.isArray(data))
  if (refusal !== undefined) return jsonAnswer(refusal)
  const data = answers
    .flatMap((answer) => inPlace(arrayOr(answer.data), 'index'))
    .map((item, index) => ({ ...item, index }))
  if (data.length !== count) return unusable('a text has no vector')
  const tokens = sumOfCounts(answers.map(tokensIn))
  const usage = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }
  // The first part's own figures are no figures of the whole.
  const { usage: _ofPart, ...first } = recordOr(answers[0])
  return jsonAnswer({ ...first, data, ...usage })
}

function tokensIn({ usage }: JsonRecord): unknown {
  const { total_tokens: total, prompt_tokens: prompt } = recordOr(usage)
  return total ?? prompt
}
