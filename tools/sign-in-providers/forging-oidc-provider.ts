import { generateKeyPairSync, sign } from 'node:crypto'
import { startProviderServer, type ProviderServer } from './provider-server.ts'

/** Content and signature of a token, with arbitrary errors. */
export interface Forgery {
  header?: Record<string, unknown>
  claims?: Record<string, unknown>
  /** Claims to omit. */
  without?: readonly string[]
  /** Signs with a key that is not in the published set. */
  otherKey?: boolean
  /** Sends no identity token. */
  noToken?: boolean
  /** Different subject in the userinfo response. */
  userinfoSub?: string
}

export interface ForgingOidcProvider extends ProviderServer {
  wellKnown: string
  clientId: string
  clientSecret: string
  /** Applies to the next exchange. */
  forgery: Forgery
  /** Nonce in the next token. */
  nonce: string
}

const LIFE_SECONDS = 300

/** An OpenID Connect provider with forged tokens. Accepts any code. */
export async function startForgingOidcProvider(): Promise<ForgingOidcProvider> {
  const own = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const state: Pick<ForgingOidcProvider, 'forgery' | 'nonce' | 'clientId' | 'clientSecret'> = {
    forgery: {},
    nonce: '',
    clientId: 'forged-client',
    clientSecret: 'forged-secret',
  }
  let issuer = ''

  function identityToken(): string {
    const { header, claims, without = [], otherKey = false } = state.forgery
    const nowSeconds = Math.floor(Date.now() / 1000)
    const all = {
      iss: issuer,
      aud: state.clientId,
      sub: 'forged-person',
      iat: nowSeconds,
      exp: nowSeconds + LIFE_SECONDS,
      nonce: state.nonce,
      ...claims,
    }
    const told = Object.entries(all).filter(([name]) => !without.includes(name))
    const head = { alg: 'RS256', kid: 'own', typ: 'JWT', ...header }
    const signed = `${part(head)}.${part(Object.fromEntries(told))}`
    if (head.alg === 'none') return `${signed}.`
    const key = otherKey ? other.privateKey : own.privateKey
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
  }

  const server = await startProviderServer({
    port: 0,
    answer({ url }) {
      switch (url.pathname) {
        case '/.well-known/openid-configuration':
          return { body: metadata(issuer) }
        case '/jwks':
          return {
            body: {
              keys: [
                {
                  ...own.publicKey.export({ format: 'jwk' }),
                  kid: 'own',
                  use: 'sig',
                  alg: 'RS256',
                },
              ],
            },
          }
        case '/token':
          return {
            body: {
              access_token: 'forged-access',
              token_type: 'bearer',
              expires_in: LIFE_SECONDS,
              ...(state.forgery.noToken === true ? {} : { id_token: identityToken() }),
            },
          }
        case '/userinfo':
          return { body: { sub: state.forgery.userinfoSub ?? 'forged-person', name: 'Forged' } }
        default:
          return { status: 404, body: {} }
      }
    },
  })
  issuer = server.url
  const wellKnown = `${server.url}/.well-known/openid-configuration`
  return Object.assign(state, server, { wellKnown })
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const metadata = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  // The server must not accept algorithms because the provider announces them.
  id_token_signing_alg_values_supported: ['RS256', 'none', 'HS256'],
  code_challenge_methods_supported: ['S256'],
})
