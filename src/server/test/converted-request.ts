import type { DialectName } from '../relay/canonical/chat-request.ts'
import { dialects } from '../relay/conversion/dialects.ts'

/** A request of one dialect as it is written in another. `over`: to whom it goes. */
export function convert(
  client: DialectName,
  upstream: DialectName,
  body: object,
  over: object = {},
) {
  // Requests are objects; that is all the reader relies on.
  const request = dialects[client].readRequest(body as Record<string, unknown>)
  const to = { model: 'm', isStream: false, asksForUsage: false, ...over }
  return dialects[upstream].writeRequest(request, to)
}
