import { bytesAnswer, errorAnswer, type Answer } from './answer.ts'
import { anthropicErrorAnswer } from './dialects/anthropic-checks.ts'
import type { Call, Json } from './call.ts'
import { providerErrorAnswer } from './providers/errors.ts'
import { geminiErrorAnswer } from './dialects/gemini-answers.ts'

/** Errors selected by a directive, with the providers' messages. */
export function refusalAnswer(call: Call): Answer | null {
  const { refusal, retryAfterSeconds } = call.directives
  if (!refusal) return null
  if (refusal.body === 'html') {
    return bytesAnswer('text/html', '<html>bad gateway</html>', refusal.status)
  }
  if (refusal.body === 'empty') return bytesAnswer('application/json', '', refusal.status)
  const answer = errorIn(call, refusal.status, refusalError(call, refusal.code))
  if (retryAfterSeconds !== null && answer.kind === 'whole' && !GEMINI_PATH.test(call.path)) {
    answer.headers['retry-after'] = String(retryAfterSeconds)
  }
  return answer
}

const GEMINI_PATH = /\/models\/[^/]+:/

type ErrorWords = { message: string; type: string; code: string | null }

/** An error in the dialect of the path. */
export function errorIn({ path, directives }: Call, status: number, words: ErrorWords): Answer {
  if (/\/messages(\/|$)/.test(path)) return anthropicErrorAnswer(status, words.message)
  if (GEMINI_PATH.test(path)) {
    return geminiErrorAnswer(status, words.message, retryInfo(directives.retryAfterSeconds))
  }
  return providerErrorAnswer(path, status, words.message) ?? errorAnswer(status, words)
}

/** Gemini sends the retry delay in the body instead of a header. */
const retryInfo = (seconds: number | null): Json[] | undefined =>
  seconds === null
    ? undefined
    : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` }]

function refusalError(call: Call, code: string) {
  const refusal = call.directives.refusal
  const { headers, authorization } = call
  const named = headers['x-api-key'] ?? headers['x-goog-api-key'] ?? headers['api-key']
  const key = String(named ?? authorization.replace(/^Bearer /, ''))
  if (refusal?.repeatsKey) {
    const message = `Incorrect API key provided: ${key}. It was sent as "Bearer ${key}".`
    return { message, type: 'invalid_request_error', code }
  }
  switch (code) {
    case 'insufficient_quota':
      return { message: 'You exceeded your current quota', type: 'insufficient_quota', code }
    case 'invalid_api_key':
      return { message: 'Incorrect API key provided', type: 'invalid_request_error', code }
    case 'model_not_found': {
      const message = `The model \`${call.model}\` does not exist or you do not have access to it.`
      return { message, type: 'invalid_request_error', code }
    }
    default:
      return { message: `upstream says ${refusal?.status}`, type: 'upstream_test', code }
  }
}
