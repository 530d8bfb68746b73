import { bearerOf } from '../../../contract/channel-types.ts'
import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import type { ProviderCall, ProviderChannel } from '../dialect/provider.ts'

const OWN_NAME = 'Gatehouse'

export function openaiHeaders(
  channel: ProviderChannel,
  call: ProviderCall,
): Record<string, string> {
  if (channel.type === ChannelTypeNumber.qianfanV2) return qianfanHeaders(channel)
  const authorization = `Bearer ${channel.key}`
  if (channel.type === ChannelTypeNumber.xai) return { authorization, ...conversationOf(call) }
  if (channel.type !== ChannelTypeNumber.openrouter) return { authorization }
  // It shows its customers which program called.
  const title = { 'X-Title': OWN_NAME }
  const { ownAddress } = call
  return { authorization, ...title, ...(ownAddress === '' ? {} : { 'HTTP-Referer': ownAddress }) }
}

function qianfanHeaders({ type, key }: ProviderChannel): Record<string, string> {
  const { secret, appId } = bearerOf(type, key)
  return { authorization: `Bearer ${secret}`, ...(appId === null ? {} : { appid: appId }) }
}

const CONVERSATION = 'x-grok-conv-id'

/**
 * Each of xAI's servers has a cache of its own: a conversation that names itself stays with one.
 * Claude Code names its sessions in every call. Sources: xAI's documentation, "Maximizing cache
 * hits"; Claude Code's, "LLM gateway protocol", "Request headers".
 */
function conversationOf({ task, clientHeaders }: ProviderCall): Record<string, string> {
  if (task !== 'chat') return {}
  const name = clientHeaders[CONVERSATION] ?? clientHeaders['x-claude-code-session-id']
  return typeof name === 'string' && name !== '' ? { [CONVERSATION]: name } : {}
}
