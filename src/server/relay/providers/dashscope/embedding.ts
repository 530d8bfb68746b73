import { arrayOr, recordOr, type JsonRecord } from '../../json/json-value.ts'
import type { Walk } from '../../transport/upstream-steps.ts'
import { fetchEach, inParts, jsonAnswer, recordIn, sumOfCounts, unusable } from '../rewritten.ts'

/**
 * More texts than an upstream of OpenAI's dialect takes at once are sent in several calls. `size`:
 * how many it takes.
 */
export const embeddedInParts =
  (size: (model: string) => number): Walk =>
  async (steps, request) => {
    const body = recordIn({ status: 0, headers: {}, body: request.body ?? Buffer.alloc(0) })
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

/**
 * Source: Alibaba Cloud Model Studio, "Text embedding": ten texts for `text-embedding-v3` and
 * later, 25 before.
 */
export const embeddingWalk = embeddedInParts((model) => (/-v[12]$/.test(model) ? 25 : 10))

function joined(answers: JsonRecord[], count: number) {
  const data = answers
    .flatMap((answer) => arrayOr(answer.data))
    .map((item, index) => ({ ...recordOr(item), index }))
  if (data.length !== count) return unusable('a text has no vector')
  const tokens = sumOfCounts(answers.map(({ usage }) => recordOr(usage).total_tokens))
  const usage = tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }
  return jsonAnswer({ ...answers[0], data, ...usage })
}
