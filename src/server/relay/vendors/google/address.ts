import { channelType } from '../../../../contract/channel-types.ts'
import type { ProviderCall, ProviderChannel, Task } from '../../protocols/dialect/provider.ts'
import type { Via } from '../../transport/upstream-call.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { batchWalk } from './embedding-batches.ts'
import { googlesMedia, mediaAction } from './media.ts'

/** Method of each task. Source: Gemini API reference, "All methods". */
const ACTIONS: Readonly<Partial<Record<Task, string>>> = {
  chat: 'generateContent',
  countTokens: 'countTokens',
  embedContent: 'embedContent',
  batchEmbedContents: 'batchEmbedContents',
  // An embeddings request of OpenAI's dialect may contain many texts.
  embeddings: 'batchEmbedContents',
}

const DEFAULT_VERSION = 'v1beta'

export function geminiUrl(channel: ProviderChannel, call: ProviderCall): string | null {
  const action = actionOf(call)
  const base = channel.baseUrl || channelType(channel.type).baseUrl
  if (action === null || base === '') return null
  const root = /\/v\d[a-z0-9]*$/i.test(base)
    ? base
    : `${base}/${channel.apiVersion || (call.geminiVersion ?? DEFAULT_VERSION)}`
  const path = modelPath(call.model)
  if (path === null) return null
  return `${root}/${path}:${action}`
}

/** Null if the model does not have the task. */
function actionOf({ task, model, isStream }: ProviderCall): string | null {
  if (googlesMedia(model, task) !== null) return mediaAction(model, task)
  const action = ACTIONS[task] ?? null
  return action !== null && isStream ? 'streamGenerateContent?alt=sse' : action
}

/**
 * Returns the path of a model: names may begin with `models/` or `tunedModels/`, and a bare name is
 * below `models/`. Null if the name would lead to another path.
 */
function modelPath(model: string): string | null {
  const name = /^(?:models|tunedModels)\//.test(model) ? model : `models/${model}`
  const parts = name.split('/')
  return parts.some((part) => part === '' || part === '.' || part === '..')
    ? null
    : parts.map(encodeURIComponent).join('/')
}

/** Batches are needed for OpenAI's embeddings only: Gemini clients observe the limit themselves. */
export const geminiVia = (_channel: ProviderChannel, { task }: ProviderCall): Via | null =>
  task === 'embeddings' ? inSteps(batchWalk) : null

/** The key is sent in a header, because URLs end up in log files. */
export const geminiHeaders = (channel: ProviderChannel): Record<string, string> => ({
  'x-goog-api-key': channel.key,
})
