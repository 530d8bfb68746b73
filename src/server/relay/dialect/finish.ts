import type { Clock } from '../../clock.ts'
import { scanBody } from '../json/body-scan.ts'
import { splice } from '../json/body-splice.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'
import type { Provider, ProviderCall, ProviderChannel } from './provider.ts'

/** The last touches of a provider to a request in its dialect. */

/** A call, and the channel it goes to. */
export interface Sent {
  channel: ProviderChannel
  to: ProviderCall
}

/** The body as this provider of its dialect wants it. */
export function finished(provider: Provider, { channel, to }: Sent, bytes: Buffer): Buffer {
  if (provider.edits === undefined) return bytes
  const body = scanBody(bytes)
  if (!body.ok) throw new Error(`a written body is broken: ${body.reason}`)
  const edits = provider.edits(body, to, channel)
  return edits.length === 0 ? bytes : splice(body, edits)
}

/** The request with what must happen to it right before it goes out, and how it goes. */
export function sealedBy(
  provider: Provider,
  { channel, to }: Sent,
  request: UpstreamRequest,
  clock: Pick<Clock, 'nowSeconds'>,
): UpstreamRequest {
  const via = provider.via?.(channel, to) ?? null
  if (provider.seal === undefined) return via === null ? request : { ...request, via }
  const seal = provider.seal(channel, request, () => clock.nowSeconds())
  return { ...request, seal, ...(via === null ? {} : { via }) }
}
