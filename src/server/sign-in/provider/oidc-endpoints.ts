import type { App } from '../../app.ts'
import {
  ExchangeFailure,
  textId,
  textOf,
  type ExternalPerson,
  type Return,
  type Trip,
} from './external-provider.ts'
import { oidcPerson } from './oidc-person.ts'
import { callForObject } from './provider-call.ts'

/**
 * A person from a token endpoint and a userinfo endpoint without a discovery document. No issuer is
 * known, so an identity token could not be checked and is not looked at; the userinfo answer
 * counts.
 */
export async function endpointsPerson(
  { options, egress }: Pick<App, 'options' | 'egress'>,
  { code }: Return,
  { redirectUri, codeVerifier }: Trip,
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
  // The userinfo endpoint is believed, and it is an option of its own.
  return oidcPerson({ issuer: issuerOfEndpoints(tokenEndpoint), subject, isProven: false }, claims)
}

/** What stands for the issuer where none is known. */
export const issuerOfEndpoints = (tokenEndpoint: string): string => new URL(tokenEndpoint).origin
