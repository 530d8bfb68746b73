import { z } from 'zod'
import { ACCESS_SCOPES, ACCESS_TOKEN_NAME_LENGTH_MAX, ACCESS_TOKENS_MAX } from './access-token.ts'
import { del, get, post } from './endpoint.ts'
import { byId, EpochSeconds, needed, optional, Text, WholeNumber } from './wire.ts'

/** System access tokens of an account: credentials for this API. Gatehouse only. */

const SCOPES =
  '`all`: everything the role allows. `read`: reading, except responses that contain keys or codes. `logs`: logs and statistics. `channels`: channels, reading and writing. `tokens`: the own tokens with their keys, reading and writing.'

const Scopes = z.array(z.enum(ACCESS_SCOPES)).meta({ description: SCOPES, example: ['read'] })

const accessToken = {
  id: z.string().meta({ description: 'Id of the access token.', example: '9f86d081884c7d65' }),
  name: z.string().meta({
    description: 'Name; empty for the access token of `GET /api/user/token`.',
    example: 'grafana',
  }),
  is_wire: z
    .boolean()
    .describe(
      'Whether this is the access token of `GET /api/user/token`, which has all scopes and does not expire.',
    ),
  scopes: Scopes,
  created_at: EpochSeconds.describe('Time of creation, in epoch seconds; 0: unknown.'),
  expires_at: EpochSeconds.describe('Time of expiry, in epoch seconds; 0: never.'),
  used_at: EpochSeconds.describe(
    'Time of the last use, in epoch seconds, up to a minute late; 0: never or unknown.',
  ),
  used_address: z.string().meta({
    description: 'IP address of the last use; empty if never used.',
    example: '203.0.113.7',
  }),
}

const AccessToken = z
  .object(accessToken)
  .meta({ id: 'AccessToken', description: 'A system access token, without its secret.' })
export type AccessToken = z.infer<typeof AccessToken>

const NewAccessToken = z
  .object({
    ...accessToken,
    token: z.string().meta({
      description: 'The secret of the access token. It is shown only once.',
      example: 'gha_4Yw0cV1ZrJ9mT8kQd2hXs7LbNf6GpAe3UiRoKtWyMzE',
    }),
  })
  .meta({ id: 'NewAccessToken', description: 'A new system access token with its secret.' })

const token = z
  .string()
  .max(64)
  .meta({ description: '`id` of the list.', example: '9f86d081884c7d65' })

const ById = byId('Id of the user.', 12)

export const accessTokenApi = {
  list: get('/api/user/access_tokens', {
    name: 'listAccessTokens',
    summary: 'System access tokens of the caller’s account, newest first.',
    access: 'user',
    data: z.array(AccessToken),
  }),
  create: post('/api/user/access_tokens', {
    name: 'createNamedAccessToken',
    summary: `Creates a system access token; at most ${ACCESS_TOKENS_MAX}. Needs a session.`,
    access: 'user',
    needsProof: true,
    rate: 'critical',
    noNamedToken: true,
    body: z
      .object({
        name: needed(Text).meta({
          description: 'Name, for example of the program that uses it.',
          maxLength: ACCESS_TOKEN_NAME_LENGTH_MAX,
        }),
        scopes: needed(Scopes),
        expires_at: optional(WholeNumber).describe(
          'Time of expiry, in epoch seconds; 0 or omitted: never.',
        ),
      })
      .meta({
        id: 'AccessTokenInput',
        description: 'A system access token to create.',
        example: { name: 'grafana', scopes: ['read'], expires_at: 1_830_000_000 },
      }),
    data: NewAccessToken,
  }),
  revoke: del('/api/user/access_tokens/:token', {
    name: 'revokeAccessToken',
    summary: 'Revokes a system access token of the caller’s account. Needs a session.',
    access: 'user',
    noNamedToken: true,
    params: z.object({ token }),
  }),
  listOf: get('/api/user/:id/access_tokens', {
    name: 'listUserAccessTokens',
    summary: 'System access tokens of a user with a role below the caller’s.',
    access: 'admin',
    params: ById,
    data: z.array(AccessToken),
  }),
  revokeOf: del('/api/user/:id/access_tokens/:token', {
    name: 'revokeUserAccessToken',
    summary: 'Revokes a system access token of a user with a role below the caller’s.',
    access: 'admin',
    params: ById.extend({ token }),
  }),
}
