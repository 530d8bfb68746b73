import { bearerOf, ChannelTypeNumber } from '../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel } from '../dialect/provider.ts'

/** Shows its customers which program called, by two headers. */
const OPENROUTER = 20
const OWN_NAME = 'Gatehouse'

export function openaiHeaders(
  channel: ProviderChannel,
  { ownAddress }: ProviderCall,
): Record<string, string> {
  if (channel.type === ChannelTypeNumber.qianfan) return qianfanHeaders(channel)
  const authorization = `Bearer ${channel.key}`
  if (channel.type !== OPENROUTER) return { authorization }
  const title = { 'X-Title': OWN_NAME }
  return { authorization, ...title, ...(ownAddress === '' ? {} : { 'HTTP-Referer': ownAddress }) }
}

function qianfanHeaders({ type, key }: ProviderChannel): Record<string, string> {
  const { secret, appId } = bearerOf(type, key)
  return { authorization: `Bearer ${secret}`, ...(appId === null ? {} : { appid: appId }) }
}
