import { z } from 'zod'
import { del, get } from './endpoint.ts'
import {
  EXTERNAL_PROVIDERS,
  PRESET_PROVIDERS,
  REDIRECTING_PROVIDERS,
  SIGN_IN_INTENTS,
} from './oauth.ts'
import { SignedIn } from './user-api.ts'
import { byId, EpochSeconds, Text } from './wire.ts'

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

/** Name of an OpenID Connect provider in the option `SignInProviders`. */
const Name = z
  .string()
  .meta({ description: 'Name of the provider in the settings.', example: 'corp' })

const Listed = z.union([
  z.enum(PRESET_PROVIDERS),
  z.templateLiteral(['oidc/', z.string()]).meta({ example: 'oidc/corp' }),
])

const AnyProvider = z.union([
  z.enum([...EXTERNAL_PROVIDERS, ...PRESET_PROVIDERS]),
  z.templateLiteral(['oidc/', z.string()]).meta({ example: 'oidc/corp' }),
])

const ExternalIdentity = z
  .object({
    provider: AnyProvider.describe('Provider, as in the paths of sign-in.'),
    label: z.string().meta({
      description:
        'Name at the provider; the subject with OpenID Connect, the id with Lark and WeChat.',
      example: 'li.ming',
    }),
    linked_at: EpochSeconds.describe('Time of linking, in epoch seconds; 0: unknown.'),
  })
  .meta({ id: 'ExternalIdentity', description: 'An external account that signs a user in.' })
export type ExternalIdentity = z.infer<typeof ExternalIdentity>

const OfUser = byId('Id of the user.', 12)

const AnyRedirecting = z.union([
  z.enum([...REDIRECTING_PROVIDERS, ...PRESET_PROVIDERS]),
  z.templateLiteral(['oidc/', z.string()]).meta({ example: 'oidc/corp' }),
])

const STATE = 'Zk3v0TqYl2xw'

const Code = optionalText.meta({
  description: 'Authorization code of the provider.',
  example: '8f14e4',
})

const Callback = z.object({
  code: Code,
  state: optionalText.meta({
    description: 'State from `GET /api/oauth/state`.',
    example: STATE,
  }),
  error: optionalText.meta({
    description: 'Error of the provider, instead of a code.',
    example: 'access_denied',
  }),
  iss: optionalText.meta({
    description: 'RFC 9207: issuer of the response, if the provider sends it. Gatehouse only.',
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
  `Redirect target of ${provider}: signs in, or links an account and then has the message \`bind\`.`

export const oauthApi = {
  state: get('/api/oauth/state', {
    name: 'createSignInState',
    summary: 'Returns a state for one sign-in attempt; valid once, for ten minutes.',
    access: 'anyone',
    // A signed-in caller links an account, with which it could sign in later.
    needsProof: ({ query }) => query['intent'] !== 'login',
    rate: 'critical',
    query: z.object({
      provider: unlessEmpty(AnyRedirecting).describe(
        'Provider that must respond; if omitted, the first callback decides. Gatehouse only.',
      ),
      intent: unlessEmpty(z.enum(SIGN_IN_INTENTS)).describe(
        'Purpose; if omitted, a session at the callback means `bind`. Gatehouse only.',
      ),
    }),
    data: z.string().meta({ example: STATE }),
    extra: z.object({
      authorize_url: z
        .string()
        .optional()
        .meta({
          description:
            'Address to which the client redirects the user; only with `provider`. Gatehouse only.',
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
  linuxdo: get('/api/oauth/linuxdo', {
    name: 'finishLinuxdoSignIn',
    summary: comesBack('LinuxDO'),
    ...callback,
  }),
  discord: get('/api/oauth/discord', {
    name: 'finishDiscordSignIn',
    summary: comesBack('Discord'),
    ...callback,
  }),
  listed: get('/api/oauth/oidc/:name', {
    name: 'finishNamedOidcSignIn',
    summary: comesBack('another OpenID Connect provider'),
    ...callback,
    params: z.object({ name: Name }),
  }),
  wechat: get('/api/oauth/wechat', {
    name: 'signInWithWechat',
    summary: 'Signs in with the code from the public account.',
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ code: Code.describe('Code from the public account.') }),
    data: SignedIn,
  }),
  wechatBind: get('/api/oauth/wechat/bind', {
    name: 'bindWechat',
    summary: 'Links the WeChat account to which the code was sent.',
    access: 'user',
    needsProof: true,
    rate: 'critical',
    changesState: true,
    query: z.object({ code: Code.describe('Code from the public account.') }),
  }),
  accounts: get('/api/oauth/accounts', {
    name: 'listExternalAccounts',
    summary: 'The caller’s accounts at providers of the setting `SignInProviders`.',
    access: 'user',
    data: z.array(
      z.object({
        provider: Listed.describe('Provider, as in the paths of sign-in.'),
        label: z.string().meta({ description: 'Name at the provider.', example: 'li.ming' }),
      }),
    ),
  }),
  unbind: del('/api/oauth/:provider', {
    name: 'removeBinding',
    summary: 'Unlinks an external account, unless it is the only sign-in method.',
    access: 'user',
    needsProof: true,
    params: z.object({
      provider: z
        .enum([...EXTERNAL_PROVIDERS, ...PRESET_PROVIDERS])
        .describe('Provider of the account to unlink.'),
    }),
  }),
  unbindListed: del('/api/oauth/oidc/:name', {
    name: 'removeNamedBinding',
    summary: 'The same for another OpenID Connect provider.',
    access: 'user',
    needsProof: true,
    params: z.object({ name: Name }),
  }),
  identitiesOf: get('/api/user/:id/identities', {
    name: 'listUserIdentities',
    summary: 'External accounts of a user with a role below the caller’s.',
    access: 'admin',
    params: OfUser,
    data: z.array(ExternalIdentity),
  }),
  unlinkOf: del('/api/user/:id/identities', {
    name: 'removeUserIdentity',
    summary:
      'Unlinks an external account of a user with a role below the caller’s, and ends that user’s sessions.',
    access: 'admin',
    needsProof: true,
    params: OfUser,
    query: z.object({ provider: AnyProvider.describe('Provider of the account to unlink.') }),
  }),
}
