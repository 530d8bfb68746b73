import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../dialect/provider.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { answerWalk } from './finish.ts'

/**
 * Zhipu's fourth API is OpenAI's dialect at an address of its own, and takes the key as it is.
 * Source: Zhipu's API reference, "Chat completion", "Embeddings",
 * "Rerank", "Images", "Text to speech" and "Speech to text".
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

/** An address that names a version is whole: plans for coding have one of their own. */
export function zhipuUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const path = PATHS[task]
  const base = channel.baseUrl || channelType(channel.type).baseUrl
  if (path === undefined || base === '') return null
  return (/\/v\d+$/.test(base) ? base : `${base}/api/paas/v4`) + path
}

/** Streams are put into OpenAI's words by their wire. */
export const zhipuVia = (_channel: ProviderChannel, { task, isStream }: ProviderCall): Via | null =>
  task === 'chat' && !isStream ? inSteps(answerWalk) : null

const TOP_P_MIN = 0.01

/**
 * Zhipu's figures end at 1, which is one of them and the default of newer models, and it says
 * "always the likeliest" by a word. Source: Zhipu's API reference, "Chat completion",
 * `temperature`, `top_p`, `do_sample`.
 */
export function zhipuEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  if (task !== 'chat') return []
  const temperature = memberValue(body, 'temperature')
  const topP = memberValue(body, 'top_p')
  const edits: MemberEdit[] = []
  if (temperature === 0) edits.push({ remove: 'temperature' }, { set: 'do_sample', json: 'false' })
  if (typeof temperature === 'number' && temperature > 1) {
    edits.push({ set: 'temperature', json: '1' })
  }
  if (typeof topP === 'number' && topP < TOP_P_MIN) {
    edits.push({ set: 'top_p', json: String(TOP_P_MIN) })
  }
  return edits
}
