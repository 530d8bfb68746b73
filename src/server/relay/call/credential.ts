import { AppError } from '../../app-error.ts'
import { isAmbiguous } from '../../http/request-head.ts'
import type { RelayCall } from './call.ts'

/** The token's key, where clients of the different dialects put it. Throws when there are two. */
export function credentialOf({ request, query, dialect }: RelayCall): string | undefined {
  const { headers } = request
  if (isAmbiguous(request)) throw new AppError('authorization_ambiguous')
  const named = headers['x-api-key'] ?? headers['x-goog-api-key']
  const inQuery = dialect === 'gemini' ? (query.get('key') ?? undefined) : undefined
  const elsewhere = typeof named === 'string' ? named : inQuery
  return headers.authorization || (elsewhere ?? headers.authorization)
}
