import type { App } from '../../app.ts'
import {
  ExchangeFailure,
  textOf,
  type AuthorizationResponse,
  type AuthorizationRequest,
} from './external-provider.ts'
import { callForObject } from './provider-call.ts'

export interface CodeExchange {
  clientId: string
  clientSecret: string
  tokenEndpoint: string
  userinfoEndpoint: string
  /** Whether the client proves itself by a header (`client_secret_basic`), not in the form. */
  usesBasic?: boolean
}

/** Returns the address of the authorization page. */
export function authorizationAddress(
  { clientId, authorizationEndpoint }: { clientId: string; authorizationEndpoint: string },
  parameters: Readonly<Record<string, string>>,
): URL {
  if (!URL.canParse(authorizationEndpoint)) {
    throw new ExchangeFailure('refused', 'no authorization endpoint')
  }
  const url = new URL(authorizationEndpoint)
  const all = { client_id: clientId, ...parameters }
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value)
  return url
}

/** Exchanges a code (RFC 6749, 4.1.3) and returns the response of the userinfo endpoint. */
export async function exchangedClaims(
  { egress, settings }: Pick<App, 'egress'> & { settings: CodeExchange },
  { code }: AuthorizationResponse,
  { redirectUri, codeVerifier }: AuthorizationRequest,
): Promise<Record<string, unknown>> {
  const { clientId, clientSecret, tokenEndpoint, userinfoEndpoint, usesBasic = false } = settings
  if (tokenEndpoint === '' || userinfoEndpoint === '') {
    throw new ExchangeFailure('refused', 'no token or userinfo endpoint is configured')
  }
  const form = new URLSearchParams({
    ...(usesBasic ? {} : { client_id: clientId, client_secret: clientSecret }),
    code,
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    ...(codeVerifier === '' ? {} : { code_verifier: codeVerifier }),
  })
  const granted = await callForObject(egress, {
    method: 'POST',
    url: tokenEndpoint,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(usesBasic ? { authorization: basic(clientId, clientSecret) } : {}),
    },
    body: form.toString(),
  })
  const token = textOf(granted['access_token'])
  if (!/^[\x21-\x7e]+$/.test(token)) throw new ExchangeFailure('refused', granted['error'])
  return callForObject(egress, {
    method: 'GET',
    url: userinfoEndpoint,
    headers: { authorization: `Bearer ${token}` },
  })
}

const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`
