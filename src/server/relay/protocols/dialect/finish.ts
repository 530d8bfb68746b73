import { AppError } from '../../../app-error.ts'
import type { Clock } from '../../../clock.ts'
import { scanBody, type BodyFault, type ScannedBody } from '../../json/body-scan.ts'
import { splice, type MemberEdit } from '../../json/body-splice.ts'
import { NO_OVERRIDES, type Overrides } from '../../../channel/overrides.ts'
import { overridden } from '../../transport/override-request.ts'
import type { UpstreamRequest } from '../../transport/upstream-call.ts'
import type { Provider, ProviderCall, ProviderChannel } from './provider.ts'

/** Last edits of a request in its provider's dialect: by the provider, then by the channel. */

const USER_AGENT = 'Gatehouse'

/** A call and its channel. */
export interface Sent {
  channel: ProviderChannel
  to: ProviderCall
}

/** Headers of a request; `body`: as in `Provider`. */
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

/** Tool arguments are JSON in a string, whose nesting must be checked, too. */
const broken = ({ code, reason }: BodyFault): Error =>
  code === 'depth'
    ? new AppError('relay_body_invalid', { detail: reason, offset: 0 })
    : new Error(`a written body is broken: ${reason}`)

/** Applies the provider's edits to a body of its dialect. */
export function finished({ edits }: Provider, { channel, to }: Sent, bytes: Buffer): Buffer {
  return edits === undefined ? bytes : editedBody(bytes, (body) => edits(body, to, channel))
}

/** Applies edits that depend on the scanned body. */
export function editedBody(bytes: Buffer, editsOf: (body: ScannedBody) => MemberEdit[]): Buffer {
  const body = scanBody(bytes)
  if (!body.ok) throw broken(body)
  const edits = editsOf(body)
  return edits.length === 0 ? bytes : splice(body, edits)
}

/** Returns the request with the channel's overrides, its signing step and its transport. */
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
