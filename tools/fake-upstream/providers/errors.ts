import { jsonAnswer, type Answer } from '../answer.ts'

/** An error in the words of the provider whose path this is; null: it speaks as OpenAI does. */
export function providerErrorAnswer(path: string, status: number, message: string): Answer | null {
  if (/\/api\/(?:chat|embed)$/.test(path)) return jsonAnswer({ error: message }, status)
  if (/\/v2\/(?:chat|embed)$/.test(path)) return jsonAnswer({ id: 'fixed', message }, status)
  if (/\/model\/[^/]+\/(?:converse|invoke)/.test(path)) return jsonAnswer({ message }, status)
  if (path.includes('/client/v4/accounts/')) {
    return jsonAnswer({ success: false, errors: [{ code: 7000 + status, message }] }, status)
  }
  return null
}
