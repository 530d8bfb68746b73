import { textOf, type ExternalPerson } from './external-provider.ts'

/** Builds a person from claims. The subject is only unique within its issuer. */
export function oidcPerson(
  { issuer, subject, isProven }: { issuer: string; subject: string; isProven: boolean },
  claims: Readonly<Record<string, unknown>>,
): ExternalPerson {
  const username = textOf(claims['preferred_username'])
  // Many providers omit it, and some send it as text.
  const isVerified = claims['email_verified'] ?? true
  const email = isVerified === true || isVerified === 'true' ? textOf(claims['email']) : ''
  return {
    subject: `${issuer} ${subject}`,
    isProven,
    label: subject,
    displayName: textOf(claims['name']) || 'OIDC User',
    ...(username === '' ? {} : { username }),
    ...(email === '' ? {} : { email }),
    claims,
  }
}
