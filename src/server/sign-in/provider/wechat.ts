import { AppError } from '../../app-error.ts'
import type { Egress } from '../../egress/egress.ts'
import type { LiveOptions } from '../../option/live-options.ts'
import {
  ExchangeFailure,
  named,
  PROVIDER_NAMES,
  textId,
  type ExternalPerson,
} from './external-provider.ts'
import { callForObject } from './provider-call.ts'
import { withoutTrailing } from '../../../contract/text.ts'

/**
 * Returns the person who got a code from the WeChat public account. A helper server run by the
 * operator resolves the code and returns `{success, data: id}`. An id only counts for the helper
 * server that returned it, because another server could return any id. Throws `wechat_code_invalid`
 * for an unknown code.
 */
export async function wechatPerson(
  options: LiveOptions,
  egress: Egress,
  code: string,
): Promise<ExternalPerson> {
  const address = withoutTrailing(options.text('WeChatServerAddress'), '/')
  if (!options.flag('WeChatAuthEnabled') || address === '') {
    throw new AppError('external_closed', named(PROVIDER_NAMES.wechat))
  }
  if (!isCode(code)) throw new AppError('wechat_code_invalid')
  const answer = await callForObject(egress, {
    method: 'GET',
    url: `${address}/api/wechat/user?code=${encodeURIComponent(code)}`,
    headers: { authorization: options.text('WeChatServerToken') },
  })
  if (answer['success'] !== true || answer['data'] === '') {
    throw new AppError('wechat_code_invalid')
  }
  const id = textId(answer['data'])
  if (id === null) throw new ExchangeFailure('unclear', 'no id')
  return {
    subject: `${address} ${id}`,
    isProven: true,
    unboundSubject: id,
    label: id,
    displayName: 'WeChat User',
  }
}

/** Codes consist of a few letters and digits; other input is not sent to the helper server. */
const isCode = (code: string): boolean => /^[0-9A-Za-z_-]{1,64}$/.test(code)
