import { jsonAnswer, type Answer } from '../answer.ts'
import { baiduErrorAnswer } from './baidu-answers.ts'
import { tencentErrorAnswer } from './tencent-answers.ts'
import { dashscopeErrorAnswer } from './dashscope-answers.ts'

/** An error in the dialect of the provider with this path; null for OpenAI's dialect. */
export function providerErrorAnswer(path: string, status: number, message: string): Answer | null {
  if (path === '/') return tencentErrorAnswer(status, message)
  if (path.includes('/wenxinworkshop/')) return baiduErrorAnswer(status, message)
  if (/\/api\/(?:chat|embed)$/.test(path)) return jsonAnswer({ error: message }, status)
  if (/\/v2\/(?:chat|embed)$/.test(path)) return jsonAnswer({ id: 'fixed', message }, status)
  if (/\/model\/[^/]+\/(?:converse|invoke)/.test(path)) return jsonAnswer({ message }, status)
  if (path.endsWith('/v2/translate')) return jsonAnswer({ message }, status)
  if (path.endsWith('/v3/chat')) return jsonAnswer({ code: 4000, msg: message }, status)
  if (/\/predictions(?:\/|$)/.test(path)) return jsonAnswer({ detail: message, status }, status)
  if (/\/api\/v1\/(?:services|tasks)\//.test(path)) return dashscopeErrorAnswer(status, message)
  if (path.includes('/client/v4/accounts/')) {
    return jsonAnswer({ success: false, errors: [{ code: 7000 + status, message }] }, status)
  }
  return null
}
