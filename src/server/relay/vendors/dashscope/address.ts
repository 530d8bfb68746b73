import { channelType, rootUrl } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { bailianEdits } from '../bailian/chat.ts'
import { embeddedInParts } from '../shared/embedding-parts.ts'
import { heardEdits, heardWalk, hearsAtOnce } from './transcriptions.ts'
import { changePath, drawsAtOnce, imageRequestEdits, imageWalk } from './images.ts'
import { rankingEdits, rankingWalk } from './ranking.ts'
import { speechPath, spokenEdits, spokenWalk } from './speech.ts'

/**
 * DashScope's compatible mode uses OpenAI's dialect and also serves the models of the older
 * protocol. Source: Alibaba Cloud Model Studio, "OpenAI compatible - Chat" and "- Embedding".
 */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/chat/completions',
  embeddings: '/embeddings',
  embedContent: '/embeddings',
  batchEmbedContents: '/embeddings',
}

const RANKING = 'rerank/text-rerank/text-rerank'
/** Tasks for images, speech and transcription. */
const GENERATION = 'aigc/multimodal-generation/generation'
const DRAWING_TASK = 'aigc/text2image/image-synthesis'

export function dashscopeUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  const base = rootUrl(channel.type, channel.baseUrl) || channelType(channel.type).baseUrl
  if (base === '') return null
  const service = serviceOf(call)
  // Tasks that the compatible mode lacks use DashScope's own API at a sibling path.
  if (service !== null) {
    return `${base.replace(/\/(?:compatible-mode|api)(?:\/v\d+)?$/, '')}/api/v1/services/${service}`
  }
  const path = PATHS[call.task]
  if (path === undefined) return null
  return (/\/v\d+$/.test(base) ? base : `${base}/compatible-mode/v1`) + path
}

/** DashScope's own endpoint for tasks that its compatible mode lacks; null for all other tasks. */
function serviceOf({ task, model }: ProviderCall): string | null {
  switch (task) {
    case 'rerank':
      return RANKING
    case 'images':
      return drawsAtOnce(model) ? GENERATION : DRAWING_TASK
    case 'imageEdits':
      return changePath(model)
    case 'speech':
      return speechPath(model)
    case 'transcriptions':
      return hearsAtOnce(model) ? GENERATION : null
    default:
      return null
  }
}

const isImage = (task: Task): boolean => task === 'images' || task === 'imageEdits'

export function dashscopeHeaders(
  { key, config }: ProviderChannel,
  { task, model }: ProviderCall,
): Record<string, string> {
  const plugin = config?.plugin
  return {
    authorization: `Bearer ${key}`,
    ...(typeof plugin === 'string' && plugin !== '' ? { 'X-DashScope-Plugin': plugin } : {}),
    ...(isImage(task) && !drawsAtOnce(model) ? { 'X-DashScope-Async': 'enable' } : {}),
  }
}

export function dashscopeVia(_channel: ProviderChannel, { task }: ProviderCall): Via | null {
  switch (task) {
    case 'rerank':
      return inSteps(rankingWalk)
    case 'images':
    case 'imageEdits':
      return inSteps(imageWalk)
    case 'speech':
      return inSteps(spokenWalk)
    case 'transcriptions':
      return inSteps(heardWalk)
    case 'embeddings':
    case 'embedContent':
    case 'batchEmbedContents':
      return inSteps(embeddingWalk)
    default:
      return null
  }
}

/** Suffix by which clients of other gateways request a web search. */
const SEARCHES = /-internet$/

export function dashscopeEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  const { task, model } = call
  if (task === 'rerank') return rankingEdits(body)
  if (isImage(task)) return imageRequestEdits(body, call)
  if (task === 'speech') return spokenEdits(body, call)
  if (task === 'transcriptions') return heardEdits(body)
  if (task !== 'chat') return []
  const edits = bailianEdits(body, call)
  if (SEARCHES.test(model)) {
    edits.push(
      { set: 'model', json: JSON.stringify(model.replace(SEARCHES, '')) },
      { set: 'enable_search', json: 'true' },
    )
  }
  return edits
}

/**
 * Maximum texts per request: ten for `text-embedding-v3` and later, 25 before. Source: Alibaba
 * Cloud Model Studio, "Text embedding".
 */
const embeddingWalk = embeddedInParts((model) => (/-v[12]$/.test(model) ? 25 : 10))
