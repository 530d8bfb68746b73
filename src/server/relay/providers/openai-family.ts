import { createHash } from 'node:crypto'
import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { upstreamUrl } from '../../../contract/channel-types.ts'
import type { Provider, ProviderCall, ProviderRow, Task } from '../dialect/provider.ts'
import { memberRange, memberValue, type ScannedBody } from '../json/body-scan.ts'
import { type MemberEdit, renamed } from '../json/body-splice.ts'
import { arrayOr, isRecord, recordOr, type JsonRecord } from '../json/json-value.ts'
import { openaiHeaders } from '../openai/address.ts'
import { bailianEdits, bailianVia } from './bailian/chat.ts'
import { messageEdits, roleEdits, systemRole, type MessageChange } from '../openai/message-edits.ts'
import { minimaxWire } from './minimax/wire.ts'
import { dashscope } from './native-providers.ts'

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
 * them, up to Bailian, document the API. The rest may be anybody's servers: where they have no such
 * address, they are asked for chat instead (`responses/as-chat.ts`).
 */
const WITH_RESPONSES: ReadonlySet<number> = new Set([
  ChannelTypeNumber.openai,
  ChannelTypeNumber.openrouter,
  ChannelTypeNumber.groq,
  ChannelTypeNumber.volcengineArk,
  ChannelTypeNumber.xai,
  ChannelTypeNumber.bailian,
  ChannelTypeNumber.openaiCompatible,
  ChannelTypeNumber.custom,
  ChannelTypeNumber.api2d,
  ChannelTypeNumber.closeAi,
  ChannelTypeNumber.openaiSb,
  ChannelTypeNumber.openaiMax,
  ChannelTypeNumber.ohMyGpt,
  ChannelTypeNumber.aiLs,
  ChannelTypeNumber.aiProxy,
  ChannelTypeNumber.api2Gpt,
  ChannelTypeNumber.aigc2d,
])

/** Source: DeepSeek's API documentation, "Using the Responses API", and "Models & Pricing". */
const DEEPSEEK_RESPONDS = /^deepseek-(?:flash|v4-flash|v4-pro)$/

const hasResponses = (type: number, model: string): boolean =>
  WITH_RESPONSES.has(type) || (type === ChannelTypeNumber.deepseek && DEEPSEEK_RESPONDS.test(model))

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
const baichuan: Provider = { ...plain, asksForUsage: () => false, edits: roleEdits }

/** Repeats the whole text at the end of a stream. */
const minimax: Provider = { ...plain, wire: minimaxWire, edits: roleEdits }

/** Refuses whatever it does not know, and tells the usage of every stream unasked. */
const mistral: Provider = { ...plain, asksForUsage: () => false, edits: mistralEdits }

/** Wants its thoughts back once a tool was called. */
const deepseek: Provider = { ...plain, edits: deepseekEdits }

const bailian: Provider = { ...plain, edits: bailianEdits, via: bailianVia }

/**
 * Bailian is DashScope under its later name. Its compatible mode neither ranks nor draws, and takes
 * ten texts to embed. Sources: Alibaba Cloud Model Studio, "Text rerank", "Qwen-Image",
 * "Embedding".
 */
const BY_DASHSCOPE: ReadonlySet<Task> = new Set<Task>([
  'rerank',
  'images',
  'embeddings',
  'embedContent',
  'batchEmbedContents',
])

const groq: Provider = { ...plain, edits: groqEdits }

const siliconflow: Provider = { ...plain, edits: siliconflowEdits }

/**
 * Their references know the roles system, user, assistant and tool. Refusals of another: Moonshot
 * (openclaw/openclaw#22194), Volcengine Ark (agno-agi/agno#6697), MiniMax (openclaw/openclaw#3022),
 * DeepSeek (earendil-works/pi#1048), Together (earendil-works/pi, `detectCompat`).
 */
const systemOnly: Provider = { ...plain, edits: roleEdits }

/** OpenAI's models that think take their limit under another name, and refuse the former one. */
const thinking: Provider = { ...plain, edits: limitEdits }

export const takesOtherLimit = (model: string): boolean => /^(?:o\d|gpt-[5-9])/.test(model)

/** By their type. */
const peculiar: ReadonlyMap<number, Provider> = new Map([
  [ChannelTypeNumber.zhinao, systemOnly],
  [ChannelTypeNumber.moonshot, systemOnly],
  [ChannelTypeNumber.baichuan, baichuan],
  [ChannelTypeNumber.minimax, minimax],
  [ChannelTypeNumber.mistral, mistral],
  [ChannelTypeNumber.groq, groq],
  [ChannelTypeNumber.stepfun, systemOnly],
  [ChannelTypeNumber.deepseek, deepseek],
  [ChannelTypeNumber.together, systemOnly],
  [ChannelTypeNumber.volcengineArk, systemOnly],
  [ChannelTypeNumber.siliconflow, siliconflow],
  [ChannelTypeNumber.qianfanV2, systemOnly],
  [ChannelTypeNumber.sparkV2, systemOnly],
  [ChannelTypeNumber.bailian, bailian],
])

export const openaiFamily: ProviderRow = (model, task, type) => {
  if (type === ChannelTypeNumber.openai && takesOtherLimit(model)) return thinking
  if (type === ChannelTypeNumber.bailian && BY_DASHSCOPE.has(task)) return dashscope
  return peculiar.get(type) ?? plain
}

/** Source: OpenAI's API reference, "Create chat completion", `max_completion_tokens`. */
export function limitEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  return task === 'chat' ? renamed(body, 'max_tokens', 'max_completion_tokens') : []
}

/** Members that name the user or keep the answer: they change nothing about it. */
const UNKNOWN_TO_MISTRAL = ['user', 'safety_identifier', 'store'] as const

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
    ...messageEdits(body, [
      ...systemRole(body),
      ...withoutMembers(body, [...THOUGHTS, 'reasoning']),
      withFittingIds,
    ]),
  ]
}

/** Nine letters or digits, and nothing else. */
const MISTRAL_ID = /^[A-Za-z0-9]{9}$/

const fits = (id: unknown): boolean => typeof id !== 'string' || MISTRAL_ID.test(id)

/** An id of a call that another provider has made, in the only shape that Mistral takes. */
const fitted = (id: unknown): unknown =>
  fits(id) ? id : createHash('sha256').update(String(id)).digest('hex').slice(0, 9)

function withFittingIds(message: JsonRecord): JsonRecord {
  const { tool_calls: calls, tool_call_id: id } = message
  const called = arrayOr(calls).filter(isRecord)
  if (fits(id) && called.every((call) => fits(call.id))) return message
  return {
    ...message,
    ...(Array.isArray(calls)
      ? {
          tool_calls: calls.map((call) =>
            isRecord(call) ? { ...call, id: fitted(call.id) } : call,
          ),
        }
      : {}),
    ...(id === undefined ? {} : { tool_call_id: fitted(id) }),
  }
}

const THOUGHT = 'reasoning_content'
/** What others tell of their thoughts, and clients send back. */
const THOUGHTS = [THOUGHT, 'reasoning_details']

/** Takes these members out of all messages. */
function withoutMembers(body: ScannedBody, names: readonly string[]): MessageChange[] {
  const present = names.filter((name) => body.bytes.includes(`"${name}"`))
  if (present.length === 0) return []
  return [
    (message) =>
      present.some((name) => Object.hasOwn(message, name))
        ? Object.fromEntries(Object.entries(message).filter(([name]) => !present.includes(name)))
        : message,
  ]
}

/**
 * Groq refuses thoughts under a name that is not its own: "property 'reasoning_content' is
 * unsupported" (janhq/jan#8136, agentjido/req_llm#772). Its own, `reasoning`, it takes.
 */
function groqEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  return task === 'chat' ? messageEdits(body, withoutMembers(body, THOUGHTS)) : []
}

/**
 * Source: DeepSeek's API documentation, "Thinking mode", "Tool calls": what was thought since a
 * tool was called must come back, and what comes back needlessly is ignored. It must be there where
 * nothing was thought, too, or where another model called (earendil-works/pi#3636,
 * openclaw/openclaw#73417). A limit of another name than `max_tokens` is ignored
 * (earendil-works/pi#8018).
 */
function deepseekEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  if (task !== 'chat') return []
  const isThinking = recordOr(memberValue(body, 'thinking')).type !== 'disabled'
  const hasCalled = body.bytes.includes('"tool_calls"')
  return [
    ...renamed(body, 'max_completion_tokens', 'max_tokens'),
    ...messageEdits(body, [...systemRole(body), ...(isThinking && hasCalled ? [withThought] : [])]),
  ]
}

const withThought = (message: JsonRecord): JsonRecord =>
  message.role === 'assistant' && typeof message[THOUGHT] !== 'string'
    ? { ...message, [THOUGHT]: '' }
    : message

/** Source: SiliconFlow's API reference, "Create chat completion", which names `max_tokens` alone. */
function siliconflowEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  if (call.task !== 'chat') return []
  return [...renamed(body, 'max_completion_tokens', 'max_tokens'), ...roleEdits(body, call)]
}
