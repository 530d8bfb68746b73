import { createHash } from 'node:crypto'
import { upstreamUrl } from '../../../contract/channel-types.ts'
import type { Provider, ProviderCall, ProviderRow, Task } from '../dialect/provider.ts'
import { memberRange, memberValue, type ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import { arrayOr, isRecord, type JsonRecord } from '../json/json-value.ts'
import { openaiHeaders } from '../openai/address.ts'
import { bailianEdits, bailianVia } from './bailian/chat.ts'
import { minimaxWire } from './minimax/wire.ts'

/**
 * Upstreams that speak OpenAI's dialect. What some of them want otherwise is a change of a few
 * members that keeps the meaning; what they have no word for they refuse themselves, by name.
 */
const PATHS: Readonly<Partial<Record<Task, string>>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  // A client of another dialect, whose texts are put into one list.
  embedContent: '/v1/embeddings',
  batchEmbedContents: '/v1/embeddings',
  moderations: '/v1/moderations',
  images: '/v1/images/generations',
  imageEdits: '/v1/images/edits',
  speech: '/v1/audio/speech',
  transcriptions: '/v1/audio/transcriptions',
  translations: '/v1/audio/translations',
  rerank: '/v1/rerank',
  responses: '/v1/responses',
  compact: '/v1/responses/compact',
}

/**
 * Types that are asked for responses; those of all others are converted to chat. The vendors among
 * them document the API: OpenAI (1), OpenRouter (20), Groq (29), Volcengine Ark (40), xAI (45) and
 * Bailian (49). The rest may be anybody's servers: where they have no such address, they are asked
 * for chat instead (`responses/as-chat.ts`).
 */
const WITH_RESPONSES: ReadonlySet<number> = new Set([
  1, 20, 29, 40, 45, 49, 50, 8, 2, 4, 5, 6, 7, 9, 10, 12, 13,
])

const DEEPSEEK = 36
/** Source: DeepSeek's API documentation, "Using the Responses API"; it names these two. */
const DEEPSEEK_RESPONDS = /^deepseek-v4-(?:flash|pro)$/

const hasResponses = (type: number, model: string): boolean =>
  WITH_RESPONSES.has(type) || (type === DEEPSEEK && DEEPSEEK_RESPONDS.test(model))

const plain: Provider = {
  dialect: 'openai',
  url({ type, baseUrl }, { task, model }) {
    const isResponse = task === 'responses' || task === 'compact'
    if (isResponse && !hasResponses(type, model)) return null
    const path = PATHS[task]
    return path === undefined ? null : upstreamUrl(type, baseUrl, path, model)
  },
  headers: openaiHeaders,
  asksForUsage: () => true,
}

/** Refuses to be asked for the usage of a stream. */
const baichuan: Provider = { ...plain, asksForUsage: () => false }

/** Repeats the whole text at the end of a stream. */
const minimax: Provider = { ...plain, wire: minimaxWire }

/** Refuses whatever it does not know, and tells the usage of every stream unasked. */
const mistral: Provider = { ...plain, asksForUsage: () => false, edits: mistralEdits }

/** Refuses its own thoughts of earlier turns, but where a tool was called. */
const deepseek: Provider = { ...plain, edits: deepseekEdits }

const bailian: Provider = { ...plain, edits: bailianEdits, via: bailianVia }

/** OpenAI's models that think take their limit under another name, and refuse the former one. */
const thinking: Provider = { ...plain, edits: limitEdits }

const OPENAI = 1

export const takesOtherLimit = (model: string): boolean => /^(?:o\d|gpt-[5-9])/.test(model)

/** By the number of their type. */
const peculiar: ReadonlyMap<number, Provider> = new Map([
  [26, baichuan],
  [27, minimax],
  [28, mistral],
  [DEEPSEEK, deepseek],
  [49, bailian],
])

export const openaiFamily: ProviderRow = (model, _task, type) =>
  type === OPENAI && takesOtherLimit(model) ? thinking : (peculiar.get(type) ?? plain)

/** Source: OpenAI's API reference, "Create chat completion", `max_completion_tokens`. */
export function limitEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  return task === 'chat' ? renamed(body, 'max_tokens', 'max_completion_tokens') : []
}

/** The member under its other name, unless that is there already. */
function renamed(body: ScannedBody, from: string, to: string): MemberEdit[] {
  const value = memberValue(body, from) ?? null
  if (memberRange(body, from) === null) return []
  const isThere = (memberValue(body, to) ?? null) !== null
  const set = value === null || isThere ? [] : [{ set: to, json: JSON.stringify(value) }]
  return [{ remove: from }, ...set]
}

/** Members that name the user or keep the prompt: they change nothing about the answer. */
const UNKNOWN_TO_MISTRAL = ['user', 'safety_identifier', 'prompt_cache_key', 'store'] as const

/** Source: Mistral's API reference, "Chat Completion". */
function mistralEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  if (task !== 'chat') return []
  const isDemanding = memberValue(body, 'tool_choice') === 'required'
  return [
    ...UNKNOWN_TO_MISTRAL.filter((name) => memberRange(body, name) !== null).map((name) => ({
      remove: name,
    })),
    ...renamed(body, 'max_completion_tokens', 'max_tokens'),
    ...renamed(body, 'seed', 'random_seed'),
    ...(isDemanding ? [{ set: 'tool_choice', json: '"any"' }] : []),
    ...idEdits(body),
  ]
}

/** Nine letters or digits, and nothing else. */
const MISTRAL_ID = /^[A-Za-z0-9]{9}$/

/** Ids of calls that other providers have made, in the only shape that Mistral takes. */
function idEdits(body: ScannedBody): MemberEdit[] {
  const messages = arrayOr(memberValue(body, 'messages'))
  let isChanged = false
  const fit = (id: unknown): unknown => {
    if (typeof id !== 'string' || MISTRAL_ID.test(id)) return id
    isChanged = true
    return createHash('sha256').update(id).digest('hex').slice(0, 9)
  }
  const fitted = messages.map((message) => (isRecord(message) ? withIds(message, fit) : message))
  return isChanged ? [{ set: 'messages', json: JSON.stringify(fitted) }] : []
}

function withIds(message: JsonRecord, fit: (id: unknown) => unknown): JsonRecord {
  const { tool_calls: calls, tool_call_id: id } = message
  return {
    ...message,
    ...(Array.isArray(calls)
      ? { tool_calls: calls.map((call) => (isRecord(call) ? { ...call, id: fit(call.id) } : call)) }
      : {}),
    ...(id === undefined ? {} : { tool_call_id: fit(id) }),
  }
}

const THOUGHT = 'reasoning_content'

/** Source: DeepSeek's API documentation, "Thinking mode", "Multi-turn conversation". */
function deepseekEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  if (task !== 'chat' || !body.bytes.includes(`"${THOUGHT}"`)) return []
  const messages = arrayOr(memberValue(body, 'messages')).map((message) => {
    if (!isRecord(message) || arrayOr(message.tool_calls).length > 0) return message
    const { [THOUGHT]: _thought, ...rest } = message
    return rest
  })
  return [{ set: 'messages', json: JSON.stringify(messages) }]
}
