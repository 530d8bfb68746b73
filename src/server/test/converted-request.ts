import type { DialectName } from '../relay/protocols/canonical/chat-request.ts'
import { dialects } from '../relay/conversion/dialects.ts'

/** Converts a request of one dialect to another. `over`: properties of the target. */
export function convert(
  client: DialectName,
  upstream: DialectName,
  body: object,
  over: object = {},
) {
  // Requests are objects, which is all that the reader assumes.
  const request = dialects[client].readRequest(body as Record<string, unknown>)
  const to = { model: 'm', isStream: false, asksForUsage: false, ...over }
  return dialects[upstream].writeRequest(request, to)
}
