import { accessTokenApi } from './access-token-api.ts'
import { accountApi } from './account-api.ts'
import { auditApi } from './audit-api.ts'
import { channelApi } from './channel-api.ts'
import { channelBatchApi } from './channel-batch-api.ts'
import { dashboardApi } from './dashboard-api.ts'
import type { Endpoint } from './endpoint.ts'
import { modelApi } from './model-api.ts'
import { limitApi } from './limit-api.ts'
import { logApi } from './log-api.ts'
import { oauthApi } from './oauth-api.ts'
import { optionApi } from './option-api.ts'
import { passkeyApi } from './passkey-api.ts'
import { priceApi } from './price-api.ts'
import { releaseApi } from './release-api.ts'
import { secondFactorApi } from './second-factor-api.ts'
import { redemptionApi } from './redemption-api.ts'
import { routeApi } from './route-api.ts'
import { sessionApi } from './session-api.ts'
import { statusApi } from './status-api.ts'
import { tokenApi } from './token-api.ts'
import { userApi } from './user-api.ts'

/** Every endpoint of the management API. The server registers no other ones. */
export const api = {
  status: statusApi,
  user: userApi,
  account: accountApi,
  secondFactor: secondFactorApi,
  passkey: passkeyApi,
  session: sessionApi,
  accessToken: accessTokenApi,
  token: tokenApi,
  limit: limitApi,
  channel: channelApi,
  channelBatch: channelBatchApi,
  route: routeApi,
  redemption: redemptionApi,
  log: logApi,
  dashboard: dashboardApi,
  option: optionApi,
  model: modelApi,
  price: priceApi,
  oauth: oauthApi,
  release: releaseApi,
  audit: auditApi,
}

export const allEndpoints: readonly Endpoint[] = Object.values(api).flatMap((noun) =>
  Object.values(noun),
)

type Flat<T> = { [N in keyof T]: T[N][keyof T[N]] }[keyof T]
type AnyEndpoint = Flat<typeof api>
type KeyOf<E> = E extends Endpoint
  ? E['options'] extends { whenQuery: infer Q extends string }
    ? `${E['method']} ${E['path']}?${Q}`
    : `${E['method']} ${E['path']}`
  : never

/**
 * Endpoints by `METHOD path`. Type only, so that the console can use it without loading the
 * schemas.
 */
export type EndpointByKey = { [E in AnyEndpoint as KeyOf<E>]: E }
