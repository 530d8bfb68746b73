import { apiBase } from './base.ts'
import { type CallFailure, createCalls } from './call-client.ts'
import { languageTag, t } from './i18n.ts'
import { setSessionUser } from './session.ts'
import { goToSignIn } from './routing/sign-in-again.ts'
import { toast } from './toast.ts'

/** What a failed call says, by its status. */
function report(failure: CallFailure): void {
  if (failure.refused) toast.error(failure.message)
  else if (failure.status === 429) toast.error(t('错误：请求次数过多，请稍后再试！'))
  else if (failure.status === 500) toast.error(t('错误：服务器内部错误，请联系管理员！'))
  else if (failure.status === 405) toast.info(t('本站仅作演示之用，无服务端！'))
  else toast.error(t('错误：{{message}}', { message: failure.message }))
}

export const { call, callWhole } = createCalls({
  fetch: (address, init) => fetch(address, init),
  base: apiBase,
  languageTag,
  report,
  signedOut: (background) => {
    setSessionUser(null)
    if (!background) goToSignIn(true)
  },
  sentences: {
    unreachable: () => t('无法连接服务器，请检查网络后重试'),
    unreadable: () => t('服务器的回答无法识别'),
  },
})
