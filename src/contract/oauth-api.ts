import { z } from 'zod'
import { del, get } from './endpoint.ts'
import { EXTERNAL_PROVIDERS, REDIRECTING_PROVIDERS, SIGN_IN_INTENTS } from './oauth.ts'
import { SignedIn } from './user-api.ts'
import { Text } from './wire.ts'

/**
 * Sign-in through external providers. The paths and the `bind` message are One API's; `provider`,
 * `intent`, `authorize_url`, `iss` and the removal of a binding are our own.
 */

const optionalText = Text.optional().default('')

/** Treats an empty query member as absent. */
const unlessEmpty = <T extends z.ZodType<string>>(shape: T) =>
  z
    .union([shape, z.literal('')])
    .optional()
    .transform((value) => value || undefined)

const STATE = 'Zk3v0TqYl2xw'

const Code = optionalText.meta({ description: 'Code of the provider.', example: '8f14e4' })

const Callback = z.object({
  code: Code,
  state: optionalText.meta({
    description: 'What `GET /api/oauth/state` answered.',
    example: STATE,
  }),
  error: optionalText.meta({
    description: 'What the provider says instead of a code.',
    example: 'access_denied',
  }),
  iss: optionalText.meta({
    description: 'RFC 9207: who answered, where the provider says so. Gatehouse only.',
    example: 'https://login.example.com',
  }),
})

/** Absent if the request linked an account instead of signing in. */
const SignedInUnlessBound = SignedIn.optional()

const callback = {
  access: 'anyone',
  rate: 'critical',
  changesState: true,
  query: Callback,
  data: SignedInUnlessBound,
  refusals: ['oauth_state_invalid'],
} as const

const comesBack = (provider: string): string =>
  `Where ${provider} sends people back to: signs in, or binds, and then has the message \`bind\`.`

export const oauthApi = {
  state: get('/api/oauth/state', {
    name: 'createSignInState',
    summary: 'A state for one trip to a provider; lives ten minutes and serves once.',
    access: 'anyone',
    rate: 'critical',
    query: z.object({
      provider: unlessEmpty(z.enum(REDIRECTING_PROVIDERS)).describe(
        'Fixes who may answer; absent: the first callback does. Gatehouse only.',
      ),
      intent: unlessEmpty(z.enum(SIGN_IN_INTENTS)).describe(
        'What for; absent: being signed in at the callback means `bind`. Gatehouse only.',
      ),
    }),
    data: z.string().meta({ example: STATE }),
    extra: z.object({
      authorize_url: z
        .string()
        .optional()
        .meta({
          description: 'Where to send the person. Only when `provider` was named. Gatehouse only.',
          example: `https://github.com/login/oauth/authorize?state=${STATE}`,
        }),
    }),
  }),
  github: get('/api/oauth/github', {
    name: 'finishGithubSignIn',
    summary: comesBack('GitHub'),
    ...callback,
  }),
  lark: get('/api/oauth/lark', {
    name: 'finishLarkSignIn',
    summary: comesBack('Lark'),
    ...callback,
  }),
  oidc: get('/api/oauth/oidc', {
    name: 'finishOidcSignIn',
    summary: comesBack('the OpenID Connect provider'),
    ...callback,
  }),
  wechat: get('/api/oauth/wechat', {
    name: 'signInWithWechat',
    summary: 'Signs in with the code that the public account sent.',
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ code: Code.describe('Code that the public account sent.') }),
    data: SignedIn,
  }),
  wechatBind: get('/api/oauth/wechat/bind', {
    name: 'bindWechat',
    summary: 'Binds the WeChat account that the code was sent to.',
    access: 'user',
    rate: 'critical',
    changesState: true,
    query: z.object({ code: Code.describe('Code that the public account sent.') }),
  }),
  unbind: del('/api/oauth/:provider', {
    name: 'removeBinding',
    summary: 'Removes a binding, unless nothing else is left to sign in with.',
    access: 'user',
    params: z.object({
      provider: z.enum(EXTERNAL_PROVIDERS).describe('Whose account is no longer bound.'),
    }),
  }),
}
