import type { Egress } from '../../../egress/egress.ts'
import {
  fetchToken,
  KeptTokens,
  type AccessToken,
  type FetchedToken,
} from '../shared/kept-tokens.ts'

/**
 * Access tokens of Baidu AI Cloud, from an application's API key and secret key. They are valid for
 * thirty days and are renewed in their last hour. Source: Baidu AI Cloud, Qianfan ModelBuilder,
 * "Get an access token".
 */
const EARLY_SECONDS = 3600
const LIFE_SECONDS = 30 * 24 * 3600

interface Means {
  egress: Egress
  /** Base URL of Baidu, without a trailing slash. */
  base: string
  nowSeconds: number
}

const kept = new KeptTokens(EARLY_SECONDS)

/** `key`: both parts, as stored in the channel. */
export const baiduToken = (key: string, means: Means): Promise<AccessToken> =>
  kept.take(key, means.nowSeconds, () => fetchFor(key, means))

/** Removes a token that Baidu rejected. */
export const forgetBaiduToken = (key: string, token: string): void => kept.forget(key, token)

function fetchFor(key: string, { egress, base }: Means): Promise<FetchedToken> {
  const [id = '', secret = ''] = key.split('|').map((part) => part.trim())
  const query = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  })
  return fetchToken(egress, {
    url: `${base}/oauth/2.0/token?${query.toString()}`,
    headers: { 'content-type': 'application/json' },
    usualLifeSeconds: LIFE_SECONDS,
    refusal: (_status, message) => ({ error: { message, code: 'invalid_client' } }),
  })
}
