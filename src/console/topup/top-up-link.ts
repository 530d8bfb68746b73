export interface Payer {
  id: number
  username: string
}

/**
 * Address of the operator's payment page with the payer: adds `username`, `user_id` and a
 * `transaction_id` to its query. Null if the configured link is not a web address.
 */
export function topUpAddress(link: string, payer: Payer, transactionId: string): string | null {
  if (!URL.canParse(link)) return null
  const url = new URL(link)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null
  url.searchParams.append('username', payer.username)
  url.searchParams.append('user_id', String(payer.id))
  url.searchParams.append('transaction_id', transactionId)
  return url.href
}

const BYTES = 16
const VERSION_BYTE = 6
const VARIANT_BYTE = 8

/** UUID v4 of 16 random bytes; `crypto.randomUUID` is missing on pages without TLS. */
export function uuidOf(random: Uint8Array): string {
  const bytes = random.slice(0, BYTES)
  bytes[VERSION_BYTE] = ((bytes[VERSION_BYTE] ?? 0) & 0x0f) | 0x40
  bytes[VARIANT_BYTE] = ((bytes[VARIANT_BYTE] ?? 0) & 0x3f) | 0x80
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

export const newTransactionId = (): string => uuidOf(crypto.getRandomValues(new Uint8Array(BYTES)))
