import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'

/**
 * Source: Coze's developer guide, "Chat (v3)". Bots of mainland China are at `api.coze.cn`, with
 * the same paths.
 */
export function cozeUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const base = (channel.baseUrl || channelType(channel.type).baseUrl).replace(/\/v\d$/, '')
  return task !== 'chat' || base === '' ? null : `${base}/v3/chat`
}

/** Sets the bot's user: the one in the channel's settings takes precedence over the client's. */
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
