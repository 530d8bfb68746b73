import { z } from 'zod'
import { accountApi } from '../../contract/account-api.ts'
import { allEndpoints } from '../../contract/api.ts'
import type { Endpoint } from '../../contract/endpoint.ts'
import { oauthApi } from '../../contract/oauth-api.ts'

/** Calls endpoints of the contract, for tests that cover all of them. */

/** Returns the name of an endpoint in a test: `PUT /api/token/?status_only`. */
const labelOf = ({ method, path, options }: Endpoint): string =>
  `${method} ${path}${options.whenQuery === undefined ? '' : `?${options.whenQuery}`}`

/** Rows for `test.each`. */
export const labelledEndpoints: (readonly [string, Endpoint])[] = allEndpoints.map(
  (endpoint) => [labelOf(endpoint), endpoint] as const,
)

/** An id without a row. */
const NO_ID = 999_999_999

/** Returns the path of an endpoint, including its query member. */
export function addressOf({ path, options }: Endpoint, id: number | string = NO_ID): string {
  const address = path.replace(/:\w+/g, String(id))
  return options.whenQuery === undefined ? address : `${address}?${options.whenQuery}=1`
}

/** Whether a call may change something, so that the cross-site check applies. */
export const isChanging = ({ method, options }: Endpoint): boolean =>
  method !== 'GET' || options.changesState === true

/**
 * Whether the call may end the caller's session or token: signing out, a new access token, and
 * deleting the own account.
 */
export const mayEndCaller = (endpoint: Endpoint): boolean =>
  endpoint.options.changesState === true || endpoint === accountApi.removeSelf

/** Whether the endpoint is a provider's callback: without a state the response is 403. */
export const needsState = (endpoint: Endpoint): boolean =>
  [
    oauthApi.github,
    oauthApi.lark,
    oauthApi.oidc,
    oauthApi.linuxdo,
    oauthApi.discord,
    oauthApi.listed,
  ].some((callback) => callback === endpoint)

/** Returns the names of an object shape's members; empty for any other shape. */
export function membersOf(shape: z.ZodType | undefined): string[] {
  if (shape === undefined) return []
  const { properties } = schemaOf(shape, 'input')
  return Object.keys(Object(properties))
}

export type JsonSchema = Record<string, unknown>

/** Returns the schema of a shape, without the names and limits of the API description. */
export const schemaOf = (shape: z.ZodType, io: 'input' | 'output'): JsonSchema => ({
  ...z.toJSONSchema(shape, { io, unrepresentable: 'any', metadata: UNDESCRIBED }),
})

const UNDESCRIBED = z.registry<Record<string, unknown>>()
