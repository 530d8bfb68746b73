import { z } from 'zod'
import { accountApi } from '../../contract/account-api.ts'
import { allEndpoints } from '../../contract/api.ts'
import type { Endpoint } from '../../contract/endpoint.ts'
import { oauthApi } from '../../contract/oauth-api.ts'

/** Ways to call what the contract lists, for tests that go through all of it. */

/** `PUT /api/token/?status_only`: how a test names an endpoint. */
const labelOf = ({ method, path, options }: Endpoint): string =>
  `${method} ${path}${options.whenQuery === undefined ? '' : `?${options.whenQuery}`}`

/** Rows for `test.each`. */
export const labelledEndpoints: (readonly [string, Endpoint])[] = allEndpoints.map(
  (endpoint) => [labelOf(endpoint), endpoint] as const,
)

/** An id that no row has. */
const NO_ID = 999_999_999

/** The address of an endpoint, its own query member included. */
export function addressOf({ path, options }: Endpoint, id: number | string = NO_ID): string {
  const address = path.replace(/:\w+/g, String(id))
  return options.whenQuery === undefined ? address : `${address}?${options.whenQuery}=1`
}

/** Whether a call may change something, so that the gate against other sites stands before it. */
export const isChanging = ({ method, options }: Endpoint): boolean =>
  method !== 'GET' || options.changesState === true

/** Signing out, another access token and deleting oneself end what the caller came with. */
export const mayEndCaller = (endpoint: Endpoint): boolean =>
  endpoint.options.changesState === true || endpoint === accountApi.removeSelf

/** Comes back from a provider: without the state of a trip the answer is 403. */
export const needsState = (endpoint: Endpoint): boolean =>
  endpoint === oauthApi.github || endpoint === oauthApi.lark || endpoint === oauthApi.oidc

/** The names of an object shape's members; none for a shape that is no object. */
export function membersOf(shape: z.ZodType | undefined): string[] {
  if (shape === undefined) return []
  const { properties } = schemaOf(shape, 'input')
  return Object.keys(Object(properties))
}

export type JsonSchema = Record<string, unknown>

/** What is parsed, without the names and limits that the API description alone has. */
export const schemaOf = (shape: z.ZodType, io: 'input' | 'output'): JsonSchema => ({
  ...z.toJSONSchema(shape, { io, unrepresentable: 'any', metadata: UNDESCRIBED }),
})

const UNDESCRIBED = z.registry<Record<string, unknown>>()
