import type { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { callHttp, HttpCallFailed, jsonMembers } from '../egress/http-call.ts'

const TIMEOUT_MS = 30_000
/** The largest known list has five million bytes. */
const BYTES_MAX = 2 ** 23
const HTTP_OK = 200

/** Creates the error for a problem in Chinese and English. */
export type PublishedFailure = (zh: string, en: string, detail?: unknown) => AppError

/**
 * Fetches a published JSON file; null if it is not a JSON object. Throws the error created by
 * `failed`; its text contains nothing from the response.
 */
export async function fetchPublished(
  { egress, version }: Pick<App, 'egress' | 'version'>,
  address: string,
  failed: PublishedFailure,
): Promise<Record<string, unknown> | null> {
  if (!/^https?:\/\/[^\s\\]+$/.test(address) || !URL.canParse(address)) {
    throw failed(
      '地址需要以 http:// 或 https:// 开头',
      'the address must begin with http:// or https://',
    )
  }
  const { status, text } = await callHttp(egress, {
    url: address,
    method: 'GET',
    headers: { accept: 'application/json', 'user-agent': `gatehouse/${version}` },
    timeoutMs: TIMEOUT_MS,
    bytesMax: BYTES_MAX,
  }).catch((error: unknown) => {
    throw error instanceof HttpCallFailed ? failureOf(error, failed) : error
  })
  if (status !== HTTP_OK) {
    throw failed(`对方返回状态码 ${status}`, `the server responded with status ${status}`)
  }
  return jsonMembers(text)
}

function failureOf(failure: HttpCallFailed, failed: PublishedFailure): AppError {
  switch (failure.reason) {
    case 'refused':
      return failed('该地址不允许访问', 'the address is not allowed')
    case 'timeout':
      return failed('对方未及时响应', 'the server did not respond in time')
    case 'too_large':
      return failed('对方的响应过大', 'the response is too large')
    default:
      return failed('无法连接该地址', 'the address cannot be reached', failure)
  }
}
