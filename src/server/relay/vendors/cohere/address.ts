import { channelType } from '../../../../contract/channel-types.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { documentEdits } from '../shared/rerank-documents.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'
import type { Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { embeddingWalk } from './embedding.ts'

/** Source: Cohere's API reference, v2: "Chat", "Embed" and "Rerank". */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/v2/chat',
  embeddings: '/v2/embed',
  embedContent: '/v2/embed',
  batchEmbedContents: '/v2/embed',
  rerank: '/v2/rerank',
}

export function cohereUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const path = PATHS[task]
  const base = (channel.baseUrl || channelType(channel.type).baseUrl).replace(/\/v\d$/, '')
  return path === undefined || base === '' ? null : `${base}${path}`
}

export const cohereVia = (_channel: ProviderChannel, { task }: ProviderCall): Via | null =>
  PATHS[task] === PATHS.embeddings ? inSteps(embeddingWalk) : null

export const cohereHeaders = ({ key }: ProviderChannel): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  'x-client-name': 'Gatehouse',
})

/** Whether a model only reranks. */
export const isRanking = (model: string): boolean => model.startsWith('rerank-')

/**
 * Version 2 accepts only texts as documents, never returns them, and rejects `return_documents`.
 */
export const rankingEdits = (body: ScannedBody): MemberEdit[] => [
  ...documentEdits(body),
  { remove: 'return_documents' },
]
