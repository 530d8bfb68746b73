import { ChannelTypeNumber } from '../../../contract/channel-type-number.ts'
import { upstreamUrl } from '../../../contract/channel-types.ts'
import type { Provider, ProviderCall, ProviderRow, Task } from '../dialect/provider.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { type MemberEdit, renamed } from '../json/body-splice.ts'
import { openaiHeaders } from '../openai/address.ts'
import { embeddedInParts } from '../embedding/embedding-parts.ts'
import { BATCH_MAX } from '../embedding/gemini-batch.ts'
import { textsAtOnce } from '../vendors/baidu/embedding.ts'
import { bailianEdits, bailianVia } from '../vendors/bailian/chat.ts'
import {
  messageEdits,
  roleEdits,
  systemRole,
  THOUGHTS,
  withoutMembers,
} from '../openai/message-edits.ts'
import { takesOtherLimit } from '../openai/write-request.ts'
import { samplingEdits } from '../openai/thinking/sampling.ts'
import { draws, PICTURE_PATH, pictureEdits, pictureWalk } from '../vendors/minimax/pictures.ts'
import { speaks, SPEECH_PATH, spokenEdits, spokenWalk } from '../vendors/minimax/speech.ts'
import { minimaxWire } from '../vendors/minimax/wire.ts'
import { MISTRAL_LACKS, mistralEdits } from '../vendors/mistral/chat.ts'
import { speechEdits, speechWalk, speechWire } from '../vendors/mistral/speech.ts'
import { dashscope } from './native-providers.ts'
import { inSteps } from '../transport/upstream-steps.ts'

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
const DEEPSEEK_RESPONDS: ReadonlySet<string> = new Set([
  'deepseek-flash',
  'deepseek-v4-flash',
  'deepseek-v4-pro',
])

const hasResponses = (type: number, model: string): boolean =>
  WITH_RESPONSES.has(type) || (type === ChannelTypeNumber.deepseek && DEEPSEEK_RESPONDS.has(model))

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

/** Models with addresses and words of their own. */
const minimaxSpeaking: Provider = {
  ...plain,
  url: ({ type, baseUrl }) => upstreamUrl(type, baseUrl, SPEECH_PATH),
  edits: spokenEdits,
  via: () => inSteps(spokenWalk),
}

const minimaxDrawing: Provider = {
  ...plain,
  url: ({ type, baseUrl }) => upstreamUrl(type, baseUrl, PICTURE_PATH),
  edits: pictureEdits,
  via: () => inSteps(pictureWalk),
}

function minimaxFor(model: string, task: Task): Provider {
  if (task === 'speech' && speaks(model)) return minimaxSpeaking
  return task === 'images' && draws(model) ? minimaxDrawing : minimax
}

/**
 * Refuses whatever it does not know, and reports the usage of every stream unasked. Source:
 * Mistral's API reference, "Chat Completion".
 */
const mistral: Provider = {
  ...plain,
  asksForUsage: () => false,
  lacks: MISTRAL_LACKS,
  edits: mistralEdits,
}

const mistralSpeech: Provider = {
  ...plain,
  edits: speechEdits,
  wire: speechWire,
  via: (_channel, { isStream }) => (isStream ? null : inSteps(speechWalk)),
}

const deepseek: Provider = { ...plain, edits: deepseekEdits }

const bailian: Provider = { ...plain, edits: bailianEdits, via: bailianVia }

/**
 * Bailian is DashScope under its later name. Its compatible mode neither ranks nor draws, speaks
 * nor hears at OpenAI's addresses, and takes ten texts to embed. Sources: Alibaba Cloud Model
 * Studio, "Text rerank", "Qwen-Image", "Embedding".
 */
const BY_DASHSCOPE: ReadonlySet<Task> = new Set<Task>([
  'rerank',
  'images',
  'imageEdits',
  'speech',
  'transcriptions',
  'embeddings',
  'embedContent',
  'batchEmbedContents',
])

/** Source: Groq's documentation, "OpenAI compatibility", "Currently unsupported OpenAI features". */
const groq: Provider = { ...plain, lacks: ['logitBias'], edits: groqEdits }

/** Source: xAI's guide "Reasoning": its models that think refuse these. */
const xaiThinking: Provider = {
  ...plain,
  lacks: ['stop', 'presencePenalty', 'frequencyPenalty'],
}

const siliconflow: Provider = { ...plain, edits: siliconflowEdits }

/**
 * Their references know the roles system, user, assistant and tool. Refusals of another: Moonshot
 * (openclaw/openclaw#22194), Volcengine Ark (agno-agi/agno#6697), MiniMax (openclaw/openclaw#3022),
 * DeepSeek (earendil-works/pi#1048), Together (earendil-works/pi, `detectCompat`).
 */
const systemOnly: Provider = { ...plain, edits: roleEdits }

/** Embeds so many texts at once: more go in several calls. */
const embeddingVia = (textsMax: (model: string) => number): NonNullable<Provider['via']> => {
  const walk = embeddedInParts(textsMax)
  return (_channel, { task }) => (PATHS[task] === PATHS.embeddings ? inSteps(walk) : null)
}

const qianfan: Provider = { ...systemOnly, via: embeddingVia(textsAtOnce) }

const geminiOpenai: Provider = { ...plain, via: embeddingVia(() => BATCH_MAX) }

/** OpenAI's models that think refuse the limit's former name, and figures for sampling. */
const thinking: Provider = { ...plain, edits: thinkingEdits }

/** By their type. */
const peculiar: ReadonlyMap<number, Provider> = new Map([
  [ChannelTypeNumber.zhinao, systemOnly],
  [ChannelTypeNumber.moonshot, systemOnly],
  [ChannelTypeNumber.baichuan, baichuan],
  [ChannelTypeNumber.mistral, mistral],
  [ChannelTypeNumber.groq, groq],
  [ChannelTypeNumber.stepfun, systemOnly],
  [ChannelTypeNumber.deepseek, deepseek],
  [ChannelTypeNumber.together, systemOnly],
  [ChannelTypeNumber.volcengineArk, systemOnly],
  [ChannelTypeNumber.siliconflow, siliconflow],
  [ChannelTypeNumber.qianfanV2, qianfan],
  [ChannelTypeNumber.sparkV2, systemOnly],
  [ChannelTypeNumber.bailian, bailian],
  [ChannelTypeNumber.geminiOpenai, geminiOpenai],
])

export const openaiFamily: ProviderRow = (model, task, type, capabilities) => {
  if (type === ChannelTypeNumber.openai && takesOtherLimit({ model, capabilities })) return thinking
  if (type === ChannelTypeNumber.bailian && BY_DASHSCOPE.has(task)) return dashscope(task)
  if (type === ChannelTypeNumber.mistral && task === 'speech') return mistralSpeech
  if (type === ChannelTypeNumber.xai && capabilities.reasoning === true) return xaiThinking
  if (type === ChannelTypeNumber.minimax) return minimaxFor(model, task)
  return peculiar.get(type) ?? plain
}

/** The limit's newer name, and no figures for sampling. */
export function thinkingEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  if (call.task !== 'chat') return []
  return [...renamed(body, 'max_tokens', 'max_completion_tokens'), ...samplingEdits(body, call)]
}

/**
 * Groq refuses thoughts under a name that is not its own: "property 'reasoning_content' is
 * unsupported" (janhq/jan#8136, agentjido/req_llm#772). Its own, `reasoning`, it takes.
 */
function groqEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  return task === 'chat' ? messageEdits(body, withoutMembers(body, THOUGHTS)) : []
}

/** A limit of another name than `max_tokens` is ignored (earendil-works/pi#8018). */
function deepseekEdits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  if (task !== 'chat') return []
  return [
    ...renamed(body, 'max_completion_tokens', 'max_tokens'),
    ...messageEdits(body, systemRole(body)),
  ]
}

/** Source: SiliconFlow's API reference, "Create chat completion", which names `max_tokens` alone. */
function siliconflowEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  if (call.task !== 'chat') return []
  return [...renamed(body, 'max_completion_tokens', 'max_tokens'), ...roleEdits(body, call)]
}
