import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel } from '../../dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import type { Via } from '../../transport/upstream-call.ts'
import { namedEvents } from '../../providers/named-events.ts'
import { gathered } from '../../transport/json-steps.ts'
import { gatheredAnswer } from './read-answer.ts'

/**
 * Source: Coze's developer guide, "Chat (v3)". Bots of mainland China live at `api.coze.cn`, behind
 * the same paths.
 */
export function cozeUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const base = (channel.baseUrl || channelType(channel.type).baseUrl).replace(/\/v\d$/, '')
  return task !== 'chat' || base === '' ? null : `${base}/v3/chat`
}

/** Who talks with the bot: the user that the channel names, before one that a client may name. */
export function cozeEdits(
  _body: ScannedBody,
  _call: ProviderCall,
  { config }: ProviderChannel,
): MemberEdit[] {
  const user = config?.user_id
  return typeof user === 'string' && user !== ''
    ? [{ set: 'user_id', json: JSON.stringify(user) }]
    : []
}

/**
 * Without a stream, Coze answers that it is at work, keeps the conversation, and wants to be asked
 * again and again; so a whole answer is put together from a stream.
 */
export const cozeVia = (_channel: ProviderChannel, { isStream }: ProviderCall): Via | null =>
  isStream ? null : inSteps(gathered(namedEvents, gatheredAnswer))
