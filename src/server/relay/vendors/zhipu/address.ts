import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import { type MemberEdit, renamed } from '../../json/body-splice.ts'
import type { Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { embeddedInParts } from '../shared/embedding-parts.ts'
import { messageEdits, systemRole } from '../../protocols/openai-chat/message-edits.ts'
import { answerWalk } from './finish.ts'

/**
 * Version 4 of Zhipu's API uses OpenAI's dialect at its own URL, with the unchanged key. Source:
 * Zhipu's API reference, "Chat completion", "Embeddings", "Rerank", "Images", "Text to speech" and
 * "Speech to text".
 */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/chat/completions',
  embeddings: '/embeddings',
  embedContent: '/embeddings',
  batchEmbedContents: '/embeddings',
  rerank: '/rerank',
  images: '/images/generations',
  speech: '/audio/speech',
  transcriptions: '/audio/transcriptions',
}

/** A base URL with a version needs no path prefix: coding plans have a base URL of their own. */
export function zhipuUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const path = PATHS[task]
  const base = channel.baseUrl || channelType(channel.type).baseUrl
  if (path === undefined || base === '') return null
  return (/\/v\d+$/.test(base) ? base : `${base}/api/paas/v4`) + path
}

/** Maximum texts per request. Source: Zhipu's API reference, "Embeddings", `input`. */
const embeddingWalk = embeddedInParts(() => 64)

/** The wire converts finish reasons in streams; this walk converts those of whole responses. */
export function zhipuVia(_channel: ProviderChannel, { task, isStream }: ProviderCall): Via | null {
  switch (task) {
    case 'chat':
      return isStream ? null : inSteps(answerWalk)
    case 'embeddings':
    case 'embedContent':
    case 'batchEmbedContents':
      return inSteps(embeddingWalk)
    default:
      return null
  }
}

const TOP_P_MIN = 0.01

/**
 * Adapts sampling parameters and roles to Zhipu. `temperature` is at most 1, which is also the
 * default of newer models, and greedy sampling is `do_sample: false`. Zhipu has one name for the
 * completion limit and rejects the role `developer`. Source: Zhipu's API reference, "Chat
 * completion", `temperature`, `top_p`, `do_sample`, `max_tokens`, `role`.
 */
export function zhipuEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  if (task !== 'chat') return []
  const temperature = memberValue(body, 'temperature')
  const topP = memberValue(body, 'top_p')
  const edits = [
    ...renamed(body, 'max_completion_tokens', 'max_tokens'),
    ...messageEdits(body, systemRole(body)),
  ]
  if (temperature === 0) edits.push({ remove: 'temperature' }, { set: 'do_sample', json: 'false' })
  if (typeof temperature === 'number' && temperature > 1) {
    edits.push({ set: 'temperature', json: '1' })
  }
  if (typeof topP === 'number' && topP < TOP_P_MIN) {
    edits.push({ set: 'top_p', json: String(TOP_P_MIN) })
  }
  return edits
}
