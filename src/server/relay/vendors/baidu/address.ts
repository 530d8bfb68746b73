import { channelType, splitKey } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import { embeddedInParts } from '../shared/embedding-parts.ts'
import { documentEdits } from '../shared/rerank-documents.ts'
import type { Seal, UpstreamRequest, Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { baiduToken } from './access-token.ts'
import { textsAtOnce } from './embedding.ts'
import { withFreshToken } from './fresh-token.ts'

/**
 * The first version of Qianfan has a URL for every model. Source: Baidu AI Cloud, Qianfan
 * ModelBuilder, API reference: the pages of the models, "Embeddings", "Reranker".
 */
const BASE = '/rpc/2.0/ai_custom/v1/wenxinworkshop'

/** Models whose path is not their name in lower case. */
const CHAT_PATHS: Readonly<Record<string, string>> = {
  'ernie-4.0': 'completions_pro',
  'ernie-4.0-8k': 'completions_pro',
  'ernie-bot-4': 'completions_pro',
  'ernie-bot': 'completions',
  'ernie-3.5-8k': 'completions',
  'ernie-bot-turbo': 'eb-instant',
  'ernie-lite-8k-0922': 'eb-instant',
  'ernie-speed': 'ernie_speed',
  'ernie-speed-8k': 'ernie_speed',
  'ernie-bot-8k': 'ernie_bot_8k',
  'ernie-lite-8k-0308': 'ernie-lite-8k',
  'bloomz-7b': 'bloomz_7b1',
}

const EMBEDS = /^(?:embedding-|bge-|tao-8k)/
const RANKS = /^bce-reranker/

/** Whether a model only reranks. */
export const isBaiduRanking = (model: string): boolean => RANKS.test(model.toLowerCase())

/** Paths of embedding models have underscores instead of dashes, except the oldest. */
const embeddingPath = (name: string): string =>
  name.startsWith('embedding-') ? name : name.replaceAll('-', '_')

function pathOf(task: Task, model: string): string | null {
  const name = model.toLowerCase()
  switch (task) {
    case 'chat':
      return EMBEDS.test(name) || RANKS.test(name) ? null : `chat/${placeOf(name)}`
    case 'embeddings':
    case 'embedContent':
    case 'batchEmbedContents':
      return EMBEDS.test(name) ? `embeddings/${encodeURIComponent(embeddingPath(name))}` : null
    case 'rerank':
      return RANKS.test(name) ? `reranker/${encodeURIComponent(name.replaceAll('-', '_'))}` : null
    default:
      return null
  }
}

const placeOf = (name: string): string =>
  Object.hasOwn(CHAT_PATHS, name) ? (CHAT_PATHS[name] ?? '') : encodeURIComponent(name)

const baseOf = ({ type, baseUrl }: ProviderChannel): string => baseUrl || channelType(type).baseUrl

export function baiduUrl(channel: ProviderChannel, { task, model }: ProviderCall): string | null {
  const path = pathOf(task, model)
  if (path === null || /\/\.{0,2}$/.test(path)) return null
  return splitKey(channel.type, channel.key) === null ? null : `${baseOf(channel)}${BASE}/${path}`
}

/** The URL names the model; documents must be texts, and are not returned. */
export const baiduRankingEdits = (body: ScannedBody): MemberEdit[] => [
  ...documentEdits(body),
  { remove: 'model' },
  { remove: 'return_documents' },
]

/** Splits long lists of texts to embed into several requests, each with a valid token. */
export function baiduVia(channel: ProviderChannel, { model }: ProviderCall): Via {
  const via = withFreshToken(channel)
  if (!EMBEDS.test(model.toLowerCase())) return via
  const walk = embeddedInParts(() => textsAtOnce(model))
  return inSteps((steps, request) => walk(steps, { ...request, via }))
}

/** An access token in the URL replaces the two keys. */
export function baiduSeal(
  channel: ProviderChannel,
  _request: UpstreamRequest,
  nowSeconds: () => number,
): Seal {
  return async (egress) => {
    const token = await baiduToken(channel.key, {
      egress,
      base: baseOf(channel),
      nowSeconds: nowSeconds(),
    })
    if (token.kind !== 'token') return token
    const query = new URLSearchParams({ access_token: token.value }).toString()
    return { kind: 'sealed', headers: {}, query }
  }
}
