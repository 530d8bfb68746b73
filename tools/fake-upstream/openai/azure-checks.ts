import { errorAnswer, type Answer } from '../answer.ts'
import { objectOf, type Call } from '../call.ts'

/** Earlier versions reject `stream_options`. */
const USAGE_SINCE = '2024-09-01'

/** Error for an invalid request to an Azure address; null for a valid one and other addresses. */
export function azureProblem(call: Call): Answer | null {
  const isDeployment = call.path.includes('/openai/deployments/')
  if (!isDeployment && !call.path.startsWith('/openai/v1/')) return null
  if (!call.headers['api-key']) {
    const message = 'Access denied due to invalid subscription key or wrong API endpoint.'
    return errorAnswer(401, { message, type: 'invalid_request_error', code: '401' })
  }
  if (!isDeployment) return null
  const version = call.query.get('api-version')
  if (version === null) {
    return errorAnswer(404, { message: 'Resource not found', type: 'not_found', code: '404' })
  }
  if (version < USAGE_SINCE && Object.keys(objectOf(call.json.stream_options)).length > 0) {
    const message = 'Unrecognized request argument supplied: stream_options'
    return errorAnswer(400, { message, type: 'invalid_request_error', code: null })
  }
  return null
}
