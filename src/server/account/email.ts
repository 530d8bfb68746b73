import type { Refusal } from '../../contract/errors.ts'
import { fieldRefusal } from '../user/user.ts'

/**
 * Spelling under which an address is looked up. Only A to Z are lowercased: other letters that
 * become equal in lower case may belong to different mailboxes.
 */
export const addressKeyOf = (email: string): string =>
  email.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Returns why mail cannot be sent to this address, or null. */
export function addressRefusal(email: string, allowedDomains: string | null): Refusal | null {
  const refusal = fieldRefusal({ email: email === '' ? '@' : email })
  return refusal ?? (allowedDomains === null ? null : domainRefusal(email, allowedDomains))
}

/** The whole domain must be listed; neither a longer name nor a subdomain matches. */
function domainRefusal(email: string, allowedDomains: string): Refusal | null {
  const domains = allowedDomains
    .split(',')
    .map((domain) => domain.trim())
    .filter((domain) => domain !== '')
  const domain = addressKeyOf(email.slice(email.lastIndexOf('@') + 1))
  return domains.some((allowed) => addressKeyOf(allowed) === domain)
    ? null
    : { code: 'email_domain_not_allowed', params: { domains: domains.join('、') } }
}
