import type { Endpoint } from './endpoint.ts'

/**
 * Scopes of a system access token. `all`: everything the user's role allows. `read`: reading,
 * except responses that contain keys or codes. The others name the endpoints that declare them.
 */
export const ACCESS_SCOPES = ['all', 'read', 'logs', 'channels', 'tokens'] as const
export type AccessScope = (typeof ACCESS_SCOPES)[number]

/** Maximum number of named access tokens of a user, expired ones included. */
export const ACCESS_TOKENS_MAX = 50
/** In characters. */
export const ACCESS_TOKEN_NAME_LENGTH_MAX = 50

/** Returns the scopes that each allow a call of this endpoint. */
export function scopesFor({ method, options }: Endpoint): AccessScope[] {
  if (options.noNamedToken === true) return []
  const scopes: AccessScope[] = ['all']
  const isRead = method === 'GET' && options.changesState !== true
  if (isRead && options.givesSecrets !== true) scopes.push('read')
  if (options.scope !== undefined) scopes.push(options.scope)
  return scopes
}
