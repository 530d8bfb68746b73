import { PRICE_ROWS_MAX } from '../../contract/price-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { callHttp, HttpCallFailed, jsonMembers } from '../egress/http-call.ts'
import { readPriceList, type PriceList } from './published-lists.ts'

const TIMEOUT_MS = 30_000
/** The largest known list has five million bytes. */
const BYTES_MAX = 2 ** 23
const HTTP_OK = 200

const failed = (problemZh: string, problemEn: string, detail?: unknown): AppError =>
  new AppError('published_prices_failed', { problemZh, problemEn }, detail)

/**
 * Asks for a list of prices. Throws `published_prices_failed`; nothing the other side says is part
 * of the sentence.
 */
export async function askPriceList(
  { egress, version }: Pick<App, 'egress' | 'version'>,
  address: string,
): Promise<PriceList> {
  if (!/^https?:\/\/[^\s\\]+$/.test(address) || !URL.canParse(address)) {
    throw failed(
      '地址需要以 http:// 或 https:// 开头',
      'the address begins with http:// or https://',
    )
  }
  const { status, text } = await callHttp(egress, {
    url: address,
    method: 'GET',
    headers: { accept: 'application/json', 'user-agent': `gatehouse/${version}` },
    timeoutMs: TIMEOUT_MS,
    bytesMax: BYTES_MAX,
  }).catch((error: unknown) => {
    throw error instanceof HttpCallFailed ? failureOf(error) : error
  })
  if (status !== HTTP_OK) {
    throw failed(`对方返回状态码 ${status}`, `the other side answered with status ${status}`)
  }
  const list = readPriceList(jsonMembers(text))
  if (list !== null && list.rows.length > PRICE_ROWS_MAX) {
    throw failed('对方的价格表过长', 'the list is too long')
  }
  if (list === null) {
    throw failed(
      '响应不是可识别的价格表（models.dev、OpenRouter、LiteLLM、New API 或 Gatehouse）',
      'the answer is no list of prices that is known here (models.dev, OpenRouter, LiteLLM, New API or Gatehouse)',
    )
  }
  return list
}

function failureOf(failure: HttpCallFailed): AppError {
  switch (failure.reason) {
    case 'refused':
      return failed('该地址不允许访问', 'the address is not allowed')
    case 'timeout':
      return failed('对方未及时响应', 'the other side did not answer in time')
    case 'too_large':
      return failed('对方的响应过大', 'the answer is too large')
    default:
      return failed('无法连接该地址', 'the address cannot be reached', failure)
  }
}
