import { apiBase } from './base.ts'
import { type CallFailure, createCalls } from './call-client.ts'
import { saveDrafts } from './form/form-drafts.ts'
import { languageTag, t } from './i18n.ts'
import { askForProof } from './proof/proof.ts'
import { sessionUser, setSessionUser } from './session.ts'
import { goToSignIn } from './routing/sign-in-redirect.ts'
import { toast } from './toast.ts'

/** Message for a status without a message from the server. */
function statusSentence(status: number): string {
  if (status === 401) return t('未登录或登录已过期，请重新登录！')
  if (status === 405) return t('本站仅作演示之用，无服务端！')
  if (status === 429) return t('请求次数过多，请稍后再试！')
  if (status === 500) return t('服务器内部错误，请联系管理员！')
  return t('服务器没有正常响应（HTTP {{status}}）', { status })
}

/** Toast of a failed request, by its status. */
export function failureToast(failure: CallFailure): { kind: 'error' | 'info'; message: string } {
  const error = (message: string) => ({ kind: 'error' as const, message })
  if (failure.refused) return error(failure.message)
  const { status, message } = failure
  if (status === 405) return { kind: 'info', message: statusSentence(status) }
  return error(t('错误：{{message}}', { message }))
}

/** Raises the toast of a failed request. */
export function report(failure: CallFailure): void {
  if (failure.endsSession) return
  const { kind, message } = failureToast(failure)
  toast[kind](message)
}

export const { call, callWhole, callRaw, callForFile } = createCalls({
  fetch: (address, init) => fetch(address, init),
  base: apiBase,
  languageTag,
  timeoutMs: 60_000,
  report,
  signedOut: (background) => {
    saveDrafts()
    setSessionUser(null)
    if (!background) goToSignIn(true)
  },
  prove: askForProof,
  factorRequired: () => {
    const user = sessionUser()
    if (user !== null) setSessionUser({ ...user, must_set_up_second_factor: true })
  },
  sentences: {
    unproven: () => t('没有验证身份，操作未进行'),
    unreachable: () => t('无法连接服务器，请检查网络后重试'),
    unreadable: () => t('服务器的响应无法识别'),
    refused: () => t('服务器拒绝了请求，但没有说明原因'),
    ofStatus: statusSentence,
  },
})
