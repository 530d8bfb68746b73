import { textOf, type ExternalPerson } from './external-provider.ts'

/** A person from claims. The subject alone says nothing: another issuer has others of that name. */
export function oidcPerson(
  { issuer, subject, isProven }: { issuer: string; subject: string; isProven: boolean },
  claims: Readonly<Record<string, unknown>>,
): ExternalPerson {
  const username = textOf(claims['preferred_username'])
  // Many providers do not say it at all, and some as a text.
  const isVerified = claims['email_verified'] ?? true
  const email = isVerified === true || isVerified === 'true' ? textOf(claims['email']) : ''
  return {
    subject: `${issuer} ${subject}`,
    isProven,
    label: subject,
    displayName: textOf(claims['name']) || 'OIDC User',
    ...(username === '' ? {} : { username }),
    ...(email === '' ? {} : { email }),
  }
}
