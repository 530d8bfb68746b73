import type { App } from '../../app.ts'
import { exchangedClaims } from './code-exchange.ts'
import {
  ExchangeFailure,
  textId,
  type ExternalPerson,
  type AuthorizationResponse,
  type AuthorizationRequest,
} from './external-provider.ts'
import { oidcPerson } from './oidc-person.ts'
import type { OidcSettings } from './oidc-settings.ts'

/**
 * Returns the person from a token and a userinfo endpoint, without a discovery document. The issuer
 * is unknown, so an ID token could not be verified and is ignored; the userinfo response counts.
 */
export async function endpointsPerson(
  { egress, settings }: Pick<App, 'egress'> & { settings: OidcSettings },
  answer: AuthorizationResponse,
  authorization: AuthorizationRequest,
): Promise<ExternalPerson> {
  const claims = await exchangedClaims({ egress, settings }, answer, authorization)
  const subject = textId(claims['sub'])
  if (subject === null) throw new ExchangeFailure('unclear', 'no subject')
  const issuer = issuerOfEndpoints(settings.tokenEndpoint)
  // The userinfo endpoint is trusted, and it is a separate setting.
  return oidcPerson({ issuer, subject, isProven: settings.isSetByRoot }, claims)
}

/** Substitute for the unknown issuer. */
export const issuerOfEndpoints = (tokenEndpoint: string): string => new URL(tokenEndpoint).origin
