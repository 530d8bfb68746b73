import { AppError } from '../../app-error.ts'
import type { Clock } from '../../clock.ts'
import { scanBody, type BodyFault, type ScannedBody } from '../json/body-scan.ts'
import { splice, type MemberEdit } from '../json/body-splice.ts'
import { NO_OVERRIDES, type Overrides } from '../../channel/overrides.ts'
import { overridden } from '../transport/override-request.ts'
import type { UpstreamRequest } from '../transport/upstream-call.ts'
import type { Provider, ProviderCall, ProviderChannel } from './provider.ts'

/** The last touches to a request in its provider's dialect: by the provider, then by the channel. */

const USER_AGENT = 'Gatehouse'

/** A call, and the channel it goes to. */
export interface Sent {
  channel: ProviderChannel
  to: ProviderCall
}

/** The head of a request; `body`: as in `Provider`. */
export const headOf = (
  provider: Provider,
  { channel, to }: Sent,
  { contentType, accept, body }: { contentType: string; accept: string; body?: Buffer },
): Record<string, string> => ({
  'content-type': contentType,
  accept,
  'accept-encoding': 'identity',
  'user-agent': USER_AGENT,
  ...provider.headers(channel, to, body),
})

/** A tool's arguments come as a text, in which a client can nest what no body may. */
const broken = ({ code, reason }: BodyFault): Error =>
  code === 'depth'
    ? new AppError('relay_body_invalid', { detail: reason, offset: 0 })
    : new Error(`a written body is broken: ${reason}`)

/** The body as this provider of its dialect wants it. */
export function finished({ edits }: Provider, { channel, to }: Sent, bytes: Buffer): Buffer {
  return edits === undefined ? bytes : editedBody(bytes, (body) => edits(body, to, channel))
}

/** A written body with changes that are found by looking at it. */
export function editedBody(bytes: Buffer, editsOf: (body: ScannedBody) => MemberEdit[]): Buffer {
  const body = scanBody(bytes)
  if (!body.ok) throw broken(body)
  const edits = editsOf(body)
  return edits.length === 0 ? bytes : splice(body, edits)
}

/**
 * The request as the channel wants it otherwise, with what must happen to it right before it goes
 * out, and how it goes.
 */
export function readyToSend(
  provider: Provider,
  { channel, to }: Sent & { channel: { overrides: Overrides } },
  planned: UpstreamRequest,
  clock: Pick<Clock, 'nowSeconds'>,
): UpstreamRequest {
  const { overrides } = channel
  const request = overrides === NO_OVERRIDES ? planned : overridden(planned, channel)
  const via = provider.via?.(channel, to) ?? null
  if (provider.seal === undefined) return via === null ? request : { ...request, via }
  const seal = provider.seal(channel, request, () => clock.nowSeconds())
  return { ...request, seal, ...(via === null ? {} : { via }) }
}
