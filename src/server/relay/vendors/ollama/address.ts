import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'

/** Source: Ollama's API reference, "Generate a chat completion" and "Generate embeddings". */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/api/chat',
  embeddings: '/api/embed',
  embedContent: '/api/embed',
  batchEmbedContents: '/api/embed',
}

/** A base URL copied from a client of OpenAI's dialect ends in `/v1`, which is removed. */
export function ollamaUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const path = PATHS[task]
  const base = (channel.baseUrl || channelType(channel.type).baseUrl).replace(/\/(?:v1|api)$/, '')
  return path === undefined || base === '' ? null : `${base}${path}`
}

/** A self-hosted server needs no key; Ollama's cloud, or a proxy before the server, may. */
export const ollamaHeaders = ({ key }: ProviderChannel): Record<string, string> => ({
  authorization: `Bearer ${key}`,
})
