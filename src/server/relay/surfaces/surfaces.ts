import { geminiFigures } from './gemini-figures.ts'
import { responsesClient } from '../protocols/openai-responses/client.ts'
import { dialects } from '../conversion/dialects.ts'
import { clientWithCustomTools, customToolsIn } from '../protocols/openai-chat/custom-calls.ts'
import { declaresFunctions, clientWithFunctions } from '../protocols/openai-chat/function-calls.ts'
import type { ClientDialect } from '../protocols/dialect/dialect.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { agentChatFor } from './agent-chat.ts'
import type { Surface, SurfaceCall } from '../protocols/dialect/surface.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { refuseImpossibleImage } from './image-count.ts'
import { imageFigures } from './images.ts'
import { rankingFigures } from './rerank.ts'
import { compactionFigures, responseFigures } from './responses.ts'
import { spokenFigures } from './speech.ts'
import { transcriptFigures } from './transcriptions.ts'
import type { Task } from '../protocols/dialect/provider.ts'

const row = (
  dialect: DialectName,
  task: Task,
  required: string,
  over: Partial<Surface> = {},
): Surface => ({
  dialect,
  task,
  required,
  count: 'input',
  defaultModel: null,
  mayStream: false,
  ...over,
})

const transcript = (task: Task): Surface =>
  row('openai', task, 'file', {
    defaultModel: 'whisper-1',
    mayStream: true,
    figures: ({ form }) => transcriptFigures(form),
  })

const IMAGES = {
  defaultModel: 'dall-e-2',
  mayStream: true,
  wrongMember: 'picture_field_invalid',
} as const

/** Client dialect of chat; older and custom tools have calls of their own. */
function chatClient(body: JsonRecord): ClientDialect {
  if (body.functions !== undefined && declaresFunctions(body)) {
    return clientWithFunctions(dialects.openai)
  }
  const custom = customToolsIn(body)
  return custom.size === 0 ? dialects.openai : clientWithCustomTools(dialects.openai, custom)
}

const EMBEDDINGS = row('openai', 'embeddings', 'input')

const PATHS: ReadonlyMap<string, Surface> = new Map([
  [
    '/v1/chat/completions',
    row('openai', 'chat', 'messages', {
      count: 'chat',
      mayStream: true,
      insteadOf: agentChatFor,
      client: (body) => chatClient(body),
    }),
  ],
  ['/v1/completions', row('openai', 'completions', 'prompt', { mayStream: true })],
  ['/v1/embeddings', EMBEDDINGS],
  [
    '/v1/moderations',
    row('openai', 'moderations', 'input', {
      defaultModel: 'omni-moderation-latest',
      olderDefaults: ['text-moderation-stable', 'text-moderation-latest'],
    }),
  ],
  [
    '/v1/images/generations',
    row('openai', 'images', 'prompt', {
      ...IMAGES,
      figures: (request) => imageFigures(request),
      refuse: refuseImpossibleImage,
    }),
  ],
  [
    '/v1/images/edits',
    row('openai', 'imageEdits', 'prompt', {
      ...IMAGES,
      figures: (request) => imageFigures(request, 'image_edit.completed'),
    }),
  ],
  [
    '/v1/audio/speech',
    row('openai', 'speech', 'input', {
      mayStream: true,
      wrongMember: 'spoken_field_invalid',
      figures: ({ body, model }) => spokenFigures(body, model),
    }),
  ],
  ['/v1/audio/transcriptions', transcript('transcriptions')],
  ['/v1/audio/translations', transcript('translations')],
  ['/v1/rerank', row('openai', 'rerank', 'query', { figures: ({ body }) => rankingFigures(body) })],
  [
    '/v1/responses',
    row('openai', 'responses', 'input', {
      count: 'responses',
      mayStream: true,
      figures: ({ body }) => responseFigures(body),
      client: responsesClient,
      isStored: true,
    }),
  ],
  [
    '/v1/responses/compact',
    row('openai', 'compact', 'input', {
      count: 'responses',
      figures: ({ body }) => compactionFigures(body),
      isStored: true,
    }),
  ],
  ['/v1/messages', row('anthropic', 'chat', 'messages', { count: 'messages', mayStream: true })],
  ['/v1/messages/count_tokens', row('anthropic', 'countTokens', 'messages', { count: 'messages' })],
])

const gemini = (task: Task, required: string, over: Partial<Surface> = {}): Surface =>
  row('gemini', task, required, {
    count: 'contents',
    figures: ({ body, model }) => geminiFigures(body, { required, model }),
    ...over,
  })

const GEMINI_CHAT = gemini('chat', 'contents', { mayStream: true })

const ACTIONS: ReadonlyMap<string, Surface> = new Map([
  ['generateContent', GEMINI_CHAT],
  ['streamGenerateContent', GEMINI_CHAT],
  ['countTokens', gemini('countTokens', 'contents')],
  ['embedContent', gemini('embedContent', 'content')],
  ['batchEmbedContents', gemini('batchEmbedContents', 'requests')],
])

/**
 * Matches `/v1beta/models/gemini-2.5-pro:generateContent`; names may contain slashes and colons.
 */
const ACTION_PATH = /^\/v1(?:alpha|beta)?\/models\/(.+):([A-Za-z]+)$/

/**
 * Endpoints of Gemini's API that clients use and this server does not support yet. Source: Google's
 * SDK, `@google/genai`.
 */
const GEMINI_MISSING = [
  /^\/v1(?:alpha|beta)\/(?:auth_tokens|batches|cachedContents|fileSearchStores|files|interactions|tunedModels)(?:\/|$)/,
  /^\/v1(?:alpha|beta)?\/models\/.+:(?:asyncBatchEmbedContent|batchGenerateContent|predict|predictLongRunning)$/,
]

export const isMissingOfGemini = (path: string): boolean =>
  GEMINI_MISSING.some((pattern) => pattern.test(path))

/** Endpoints of OpenAI's API that this server does not support yet: 501 instead of 404. */
const NOT_IMPLEMENTED =
  /^\/v1\/(edits|engines|images\/variations|files(\/.*)?|fine_tuning\/jobs(\/.*)?|assistants(\/.*)?|threads(\/.*)?|responses\/.*|conversations(\/.*)?|messages\/batches(\/.*)?|realtime(\/.*)?|videos(\/.*)?|vector_stores(\/.*)?|batches(\/.*)?)$/

export const isKnownButMissing = (method: string, path: string): boolean =>
  NOT_IMPLEMENTED.test(path) || (method === 'DELETE' && /^\/v1\/models\/.+/.test(path))

const ENGINE_PATH = /^\/v1\/engines\/([^/]+)\/embeddings$/

/** Returns the surface of a POST to this path; null if it is not supported. */
export function surfaceOf(path: string, query: URLSearchParams): SurfaceCall | null {
  const plain = PATHS.get(path)
  if (plain !== undefined) {
    return { surface: plain, model: null, isStream: null, framing: 'events' }
  }
  // The oldest embeddings endpoint names the model in the path.
  const engine = ENGINE_PATH.exec(path)?.[1]
  if (engine !== undefined) {
    return { surface: EMBEDDINGS, model: decodedName(engine), isStream: null, framing: 'events' }
  }
  const [, model = '', action = ''] = ACTION_PATH.exec(path) ?? []
  const surface = ACTIONS.get(action)
  if (surface === undefined) return null
  return {
    surface,
    model: decodedName(model),
    isStream: action === 'streamGenerateContent',
    framing: query.get('alt') === 'sse' ? 'events' : 'array',
  }
}

/** Decodes a name; an invalid encoding is kept unchanged. */
export function decodedName(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the dialect in which errors on this path are sent. */
export function dialectOfPath(path: string): DialectName {
  if (path.startsWith('/v1/messages')) return 'anthropic'
  if (/^\/v1(?:alpha|beta)(?:\/|$)/.test(path)) return 'gemini'
  return ACTIONS.has(ACTION_PATH.exec(path)?.[2] ?? '') ? 'gemini' : 'openai'
}
