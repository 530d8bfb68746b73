import type { App } from '../../app.ts'
import {
  ExchangeFailure,
  textId,
  textOf,
  type ExternalPerson,
  type AuthorizationResponse,
  type AuthorizationRequest,
} from './external-provider.ts'
import { oidcPerson } from './oidc-person.ts'
import { callForObject } from './provider-call.ts'

/**
 * Returns the person from a token and a userinfo endpoint, without a discovery document. The issuer
 * is unknown, so an ID token could not be verified and is ignored; the userinfo response counts.
 */
export async function endpointsPerson(
  { options, egress }: Pick<App, 'options' | 'egress'>,
  { code }: AuthorizationResponse,
  { redirectUri, codeVerifier }: AuthorizationRequest,
): Promise<ExternalPerson> {
  const tokenEndpoint = options.text('OidcTokenEndpoint')
  const userinfoEndpoint = options.text('OidcUserinfoEndpoint')
  if (tokenEndpoint === '' || userinfoEndpoint === '') {
    throw new ExchangeFailure('refused', 'no token or userinfo endpoint is configured')
  }
  const form = new URLSearchParams({
    client_id: options.text('OidcClientId'),
    client_secret: options.text('OidcClientSecret'),
    code,
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    ...(codeVerifier === '' ? {} : { code_verifier: codeVerifier }),
  })
  const granted = await callForObject(egress, {
    method: 'POST',
    url: tokenEndpoint,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  })
  const token = textOf(granted['access_token'])
  if (!/^[\x21-\x7e]+$/.test(token)) throw new ExchangeFailure('refused', granted['error'])
  const claims = await callForObject(egress, {
    method: 'GET',
    url: userinfoEndpoint,
    headers: { authorization: `Bearer ${token}` },
  })
  const subject = textId(claims['sub'])
  if (subject === null) throw new ExchangeFailure('unclear', 'no subject')
  // The userinfo endpoint is trusted, and it is a separate option.
  return oidcPerson({ issuer: issuerOfEndpoints(tokenEndpoint), subject, isProven: false }, claims)
}

/** Substitute for the unknown issuer. */
export const issuerOfEndpoints = (tokenEndpoint: string): string => new URL(tokenEndpoint).origin
