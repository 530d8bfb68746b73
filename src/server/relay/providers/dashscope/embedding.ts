import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { fetchEach, inParts, jsonAnswer, recordIn, sumOfCounts, unusable } from '../rewritten.ts'

/**
 * More texts than DashScope takes at once are sent in several calls. Source: Alibaba Cloud Model
 * Studio, "Text embedding": ten texts for `text-embedding-v3` and later, 25 before.
 */
export const embeddingWalk: Walk = async (steps, request) => {
  const body = recordIn({ status: 0, headers: {}, body: request.body ?? Buffer.alloc(0) })
  const texts = arrayOr(body.input)
  const size = /-v[12]$/.test(String(body.model)) ? TEXTS_MAX_ONCE : TEXTS_MAX
  // A list of numbers is one text, said in a model's own tokens.
  if (texts.length <= size || texts.some((text) => typeof text !== 'string')) {
    return steps.fetch(request)
  }
  const bodies = inParts(texts, size).map((input) => ({ ...body, input }))
  const fetched = await fetchEach(steps, request, bodies)
  return 'refused' in fetched ? fetched.refused : joined(fetched.answers, texts.length)
}

const TEXTS_MAX_ONCE = 25
const TEXTS_MAX = 10

function joined(answers: JsonRecord[], count: number) {
  const data = answers
    .flatMap((answer) => arrayOr(answer.data))
    .map((item, index) => ({ ...recordOr(item), index }))
  if (data.length !== count) return unusable('a text has no vector')
  const tokens = sumOfCounts(answers.map(({ usage }) => recordOr(usage).total_tokens))
  const usage = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }
  return jsonAnswer({ ...answers[0], data, ...usage })
}
