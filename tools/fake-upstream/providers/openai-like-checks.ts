import { errorAnswer, type Answer } from '../answer.ts'
import { chatAnswer } from '../chat-answers.ts'
import type { Call } from '../call.ts'
import { embeddingsAnswer } from '../other-answers.ts'
import { providerErrorAnswer } from './errors.ts'

/** What providers refuse that otherwise speak as OpenAI does. */

const refusal = (code: string, message: string): Answer =>
  errorAnswer(400, { message, type: 'invalid_request_error', code })

/** Zhipu: figures from 0.01 to 1, and `do_sample` for "always the likeliest". */
export function checkedZhipu(call: Call): Answer {
  const { temperature, top_p: topP } = call.json
  if (typeof temperature === 'number' && (temperature <= 0 || temperature > 1)) {
    return refusal('1210', 'temperature must be in (0, 1]')
  }
  if (typeof topP === 'number' && (topP < 0.01 || topP > 1)) {
    return refusal('1210', 'top_p must be in [0.01, 1]')
  }
  return chatAnswer(call)
}

/** DashScope: `top_p` below 1, and no names of models that it does not have. */
export function checkedDashscope(call: Call): Answer {
  const { top_p: topP } = call.json
  if (typeof topP === 'number' && topP >= 1) {
    return refusal('invalid_parameter_error', 'Range of top_p should be (0.0, 1.0)')
  }
  if (call.model.endsWith('-internet')) {
    return errorAnswer(404, {
      message: `The model \`${call.model}\` does not exist.`,
      type: 'invalid_request_error',
      code: 'model_not_found',
    })
  }
  return chatAnswer(call)
}

/** Cloudflare: an account in the path, of 32 hexadecimal digits. */
export function checkedCloudflare(call: Call): Answer {
  const [, task] = /\/client\/v4\/accounts\/[0-9a-f]{32}\/ai\/v1\/(.+)$/.exec(call.path) ?? []
  if (task === 'chat/completions') return chatAnswer(call)
  if (task === 'embeddings') return embeddingsAnswer(call)
  const message = 'Could not route to the account, perhaps your object identifier is invalid?'
  return providerErrorAnswer(call.path, 404, message) ?? refusal('7003', message)
}
