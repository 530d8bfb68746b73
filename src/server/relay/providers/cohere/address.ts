import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../dialect/provider.ts'

/** Source: Cohere's API reference, v2: "Chat" and "Embed". */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/v2/chat',
  embeddings: '/v2/embed',
  embedContent: '/v2/embed',
  batchEmbedContents: '/v2/embed',
}

export function cohereUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const path = PATHS[task]
  const base = (channel.baseUrl || channelType(channel.type).baseUrl).replace(/\/v\d$/, '')
  return path === undefined || base === '' ? null : `${base}${path}`
}

export const cohereHeaders = ({ key }: ProviderChannel): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  'x-client-name': 'Gatehouse',
})
