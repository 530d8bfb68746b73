import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { AppError } from '../../app-error.ts'
import type { Clock } from '../../clock.ts'
import { scanBody, type BodyFault, type ScannedBody } from '../json/body-scan.ts'
import { splice, type MemberEdit } from '../json/body-splice.ts'
import { reasoningBackOf } from '../models/reasoning-back.ts'
import { withReasoningBack } from '../openai/thinking/reasoning-back.ts'
import type { Overrides } from '../../channel/overrides.ts'
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

/** The body as this provider of its dialect wants it, and then as the model does. */
export function finished(provider: Provider, sent: Sent, bytes: Buffer): Buffer {
  const { channel, to } = sent
  const { edits } = provider
  const edited = edits === undefined ? bytes : editedBody(bytes, (body) => edits(body, to, channel))
  return withReasoning(provider, sent, edited)
}

function editedBody(bytes: Buffer, editsOf: (body: ScannedBody) => MemberEdit[]): Buffer {
  const body = scanBody(bytes)
  if (!body.ok) throw broken(body)
  const edits = editsOf(body)
  return edits.length === 0 ? bytes : splice(body, edits)
}

/** Hosts that refuse reasoning of earlier turns: see their edits. */
const TAKES_NO_REASONING: ReadonlySet<number> = new Set([
  ChannelTypeNumber.mistral,
  ChannelTypeNumber.groq,
])

/**
 * With the reasoning that the model wants back of each turn. A model of Anthropic's dialect that
 * still misses some does not think: what it has thought cannot be made up there.
 */
function withReasoning({ dialect }: Provider, { channel, to }: Sent, bytes: Buffer): Buffer {
  const { task, model, isReasoningMissing = false } = to
  if (task !== 'chat' || TAKES_NO_REASONING.has(channel.type)) return bytes
  if (dialect === 'anthropic' && isReasoningMissing) {
    return editedBody(bytes, () => [{ set: 'thinking', json: '{"type":"disabled"}' }])
  }
  const known = reasoningBackOf(model)?.least ?? null
  const least = isReasoningMissing ? known || '.' : known
  if (dialect !== 'openai' || least === null) return bytes
  return editedBody(bytes, (body) => withReasoningBack(body, least, isReasoningMissing))
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
  const request = overridden(planned, channel)
  const via = provider.via?.(channel, to) ?? null
  if (provider.seal === undefined) return via === null ? request : { ...request, via }
  const seal = provider.seal(channel, request, () => clock.nowSeconds())
  return { ...request, seal, ...(via === null ? {} : { via }) }
}
