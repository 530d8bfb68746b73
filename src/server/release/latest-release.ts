import type { Release } from '../../contract/release-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { callHttp, HttpCallFailed, jsonMembers, type HttpAnswer } from '../egress/http-call.ts'
import { toRelease } from './release.ts'

const TIMEOUT_MS = 10_000
const BYTES_MAX = 2 ** 20
/** Seconds for which a result, or a failure, is cached. */
const KEPT_SECONDS = 3600
const FAILURE_KEPT_SECONDS = 60

const failed = (problemZh: string, problemEn: string, detail?: unknown): AppError =>
  new AppError('release_failed', { problemZh, problemEn }, detail)

/**
 * Returns the newest release from the code host; requests it at most once an hour. Throws
 * `release_unset`, `release_failed`; the error texts contain nothing from the response.
 */
export function createLatestRelease(
  app: Pick<App, 'config' | 'egress' | 'clock' | 'version'>,
): () => Promise<Release> {
  const { config, egress, clock, version } = app
  let kept: { release: Promise<Release>; untilSeconds: number } | null = null

  async function ask(repository: string): Promise<Release> {
    const answer = await callHttp(egress, {
      url: `${config.GITHUB_API_BASE_URL}/repos/${repository}/releases/latest`,
      method: 'GET',
      headers: { accept: 'application/vnd.github+json', 'user-agent': `gatehouse/${version}` },
      timeoutMs: TIMEOUT_MS,
      bytesMax: BYTES_MAX,
    }).catch((error: unknown) => {
      throw error instanceof HttpCallFailed ? failureOf(error) : error
    })
    return readAnswer(answer, repository, version)
  }

  return () => {
    const repository = config.RELEASE_REPOSITORY
    if (repository === undefined) throw new AppError('release_unset')
    const nowSeconds = clock.nowSeconds()
    if (kept !== null && nowSeconds < kept.untilSeconds) return kept.release
    const asked = { release: ask(repository), untilSeconds: nowSeconds + KEPT_SECONDS }
    asked.release.catch(() => {
      asked.untilSeconds = nowSeconds + FAILURE_KEPT_SECONDS
    })
    kept = asked
    return asked.release
  }
}

function failureOf(failure: HttpCallFailed): AppError {
  switch (failure.reason) {
    case 'refused':
      return failed('代码托管服务的地址不允许访问', 'the address of the code host is not allowed')
    case 'timeout':
      return failed('代码托管服务未及时响应', 'the code host did not respond in time')
    case 'too_large':
      return failed('代码托管服务的响应过大', 'the response of the code host is too large')
    default:
      return failed('无法连接代码托管服务', 'the code host cannot be reached', failure)
  }
}

const HTTP_OK = 200
const HTTP_FORBIDDEN = 403
const HTTP_NOT_FOUND = 404
const HTTP_TOO_MANY = 429

function readAnswer({ status, text }: HttpAnswer, repository: string, version: string): Release {
  if (status === HTTP_NOT_FOUND) {
    throw failed(`${repository} 还没有发布任何版本`, `${repository} has no release`)
  }
  if (status === HTTP_FORBIDDEN || status === HTTP_TOO_MANY) {
    throw failed(
      '代码托管服务限制了访问，请稍后再试',
      'the code host limits requests; try again later',
    )
  }
  if (status !== HTTP_OK) {
    throw failed(
      `代码托管服务返回状态码 ${status}`,
      `the code host responded with status ${status}`,
    )
  }
  const release = toRelease(jsonMembers(text), version)
  if (release === null) {
    throw failed('代码托管服务的响应无法识别', 'the response of the code host cannot be read')
  }
  return release
}
