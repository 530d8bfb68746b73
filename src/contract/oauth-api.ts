import { z } from 'zod'
import { del, get } from './endpoint.ts'
import { EXTERNAL_PROVIDERS, REDIRECTING_PROVIDERS, SIGN_IN_INTENTS } from './oauth.ts'
import { SignedIn } from './user-api.ts'
import { Text } from './wire.ts'

/**
 * Signing in through others. The paths and the `bind` message are One API's; `provider`, `intent`,
 * `authorize_url`, `iss` and the removal of a binding are ours.
 */

const optionalText = Text.optional().default('')

/** An empty member of a query counts as absent. */
const unlessEmpty = <T extends z.ZodType<string>>(shape: T) =>
  z
    .union([shape, z.literal('')])
    .optional()
    .transform((value) => value || undefined)

const Callback = z.object({
  code: optionalText,
  state: optionalText,
  /** What the provider says instead of a code, such as `access_denied`. */
  error: optionalText,
  /** RFC 9207: who answered, where the provider says so. */
  iss: optionalText,
})

/** Absent when the account was bound. */
const SignedInUnlessBound = SignedIn.optional()

const callback = {
  access: 'anyone',
  rate: 'critical',
  changesState: true,
  query: Callback,
  data: SignedInUnlessBound,
} as const

export const oauthApi = {
  state: get('/api/oauth/state', {
    access: 'anyone',
    rate: 'critical',
    query: z.object({
      /** Fixes who may answer; absent: the first callback does. */
      provider: unlessEmpty(z.enum(REDIRECTING_PROVIDERS)),
      /** Absent: being signed in at the callback means `bind`. */
      intent: unlessEmpty(z.enum(SIGN_IN_INTENTS)),
    }),
    data: z.string(),
    extra: z.object({
      /** Where to send the person. Only when `provider` was named. */
      authorize_url: z.string().optional(),
    }),
    summary: 'A state for one trip to a provider; lives ten minutes and serves once.',
  }),
  github: get('/api/oauth/github', callback),
  lark: get('/api/oauth/lark', callback),
  oidc: get('/api/oauth/oidc', callback),
  wechat: get('/api/oauth/wechat', {
    access: 'anyone',
    rate: 'critical',
    changesState: true,
    query: z.object({ code: optionalText }),
    data: SignedIn,
    summary: 'Signs in with the code that the public account sent.',
  }),
  wechatBind: get('/api/oauth/wechat/bind', {
    access: 'user',
    rate: 'critical',
    changesState: true,
    query: z.object({ code: optionalText }),
  }),
  unbind: del('/api/oauth/:provider', {
    access: 'user',
    params: z.object({ provider: z.enum(EXTERNAL_PROVIDERS) }),
    summary: 'Removes a binding, unless nothing else is left to sign in with.',
  }),
}
