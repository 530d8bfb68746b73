import { callHttp, HttpCallFailed, jsonMembers } from '../../../egress/http-call.ts'
import type { Egress } from '../../../egress/egress.ts'
import { KeptTokens, type AccessToken, type FetchedToken } from '../kept-tokens.ts'
import { textOr } from '../members.ts'

/**
 * Access tokens of Baidu AI Cloud, from an application's API key and secret key. They live thirty
 * days and are changed for new ones in their last hour. Source: Baidu AI Cloud, Qianfan
 * ModelBuilder, "Get an access token".
 */
const EARLY_SECONDS = 3600
const LIFE_SECONDS = 30 * 24 * 3600
const TIMEOUT_MS = 15_000
const ANSWER_BYTES_MAX = 64 * 1024

interface Means {
  egress: Egress
  /** Where Baidu is, without a slash at its end. */
  base: string
  nowSeconds: number
}

const kept = new KeptTokens(EARLY_SECONDS)

/** `key`: both parts, as the channel has them. */
export const baiduToken = (key: string, means: Means): Promise<AccessToken> =>
  kept.take(key, means.nowSeconds, () => fetchToken(key, means))

/** Baidu says that this token of a key is not, or no longer, good. */
export const forgetBaiduToken = (key: string, token: string): void => kept.forget(key, token)

async function fetchToken(key: string, { egress, base }: Means): Promise<FetchedToken> {
  const [id = '', secret = ''] = key.split('|').map((part) => part.trim())
  const query = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  })
  try {
    const { status, text } = await callHttp(egress, {
      url: `${base}/oauth/2.0/token?${query.toString()}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    })
    const answer = jsonMembers(text) ?? {}
    const value = textOr(answer.access_token)
    if (status === 200 && value !== '') {
      const life = answer.expires_in
      const lifeSeconds = typeof life === 'number' && life > 0 ? life : LIFE_SECONDS
      return { token: { kind: 'token', value }, lifeSeconds }
    }
    const words = textOr(answer.error_description) || textOr(answer.error) || 'no access token'
    // Whatever the status, an answer without a token says that the keys are wrong.
    return refused(status >= 500 || status === 429 ? status : 401, words)
  } catch (error) {
    if (!(error instanceof HttpCallFailed)) throw error
    const reason = error.reason === 'timeout' ? 'timeout' : 'unreachable'
    return { token: { kind: 'failed', reason }, lifeSeconds: 0 }
  }
}

const refused = (status: number, message: string): FetchedToken => ({
  token: {
    kind: 'refused',
    status,
    body: Buffer.from(JSON.stringify({ error: { message, code: 'invalid_client' } })),
  },
  lifeSeconds: 0,
})
