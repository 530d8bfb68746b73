import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  UserPart,
} from '../../protocols/canonical/chat-request.ts'
import { dataUrl, mediaFamily } from '../../protocols/canonical/media.ts'
import { missingField, unsupportedField } from '../../protocols/canonical/reading.ts'
import { turnsOf, joinedText } from '../../protocols/canonical/turns.ts'
import type { Target } from '../../protocols/dialect/dialect.ts'
import { cannotSay } from '../../protocols/dialect/field-names.ts'
import { withoutLacking, type Steering } from '../../protocols/dialect/steering.ts'
import { present, type JsonRecord } from '../../json/json-value.ts'
import { versionOf } from './address.ts'

/**
 * Steering parameters that are missing in the input schemas of Replicate's official language
 * models. Each model's page has its schema, such as https://replicate.com/openai/gpt-5/api/schema.
 */
export const REPLICATE_LACKS: readonly Steering[] = ['thinking', 'userId']

/** Input names of a model for instructions, the completion limit and images. */
interface InputNames {
  /** Null if the model has no such member: instructions are then prepended to the prompt. */
  system: string | null
  limit: string
  /** Smallest limit that the model accepts. */
  limitMin: number
  pictures: string
  /** Whether it takes several images. */
  isList: boolean
}

const USUAL_NAMES: InputNames = {
  system: 'system_prompt',
  limit: 'max_tokens',
  limitMin: 1,
  pictures: 'image',
  isList: false,
}

/**
 * Input names by the model's owner, since each owner uses the names of its own API, or by the model
 * itself.
 */
const NAMES: ReadonlyMap<string, InputNames> = new Map([
  [
    'openai',
    { ...USUAL_NAMES, limit: 'max_completion_tokens', pictures: 'image_input', isList: true },
  ],
  [
    'google',
    {
      ...USUAL_NAMES,
      system: 'system_instruction',
      limit: 'max_output_tokens',
      pictures: 'images',
      isList: true,
    },
  ],
  ['anthropic', { ...USUAL_NAMES, limitMin: 1024 }],
  ['moonshotai/kimi-k2.5', { ...USUAL_NAMES, system: null }],
])

function namesOf(model: string): InputNames {
  const [name = ''] = model.split(':')
  const [owner = ''] = name.split('/')
  return NAMES.get(name) ?? NAMES.get(owner) ?? USUAL_NAMES
}

/**
 * Writes a chat as the input of a prediction. Sources: Replicate's HTTP API reference, "Create a
 * prediction"; the input schemas of its official language models. These accept a single prompt, so
 * a conversation is written as a transcript.
 */
export function writeReplicateRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withoutLacking(sent, REPLICATE_LACKS)
  rejectUnsupported(request)
  const names = namesOf(to.model)
  const version = versionOf(to.model)
  const limit = request.maxCompletionTokens
  return {
    ...(version === null ? {} : { version }),
    input: {
      ...textsOf(request, names),
      ...imagesOf(request, names),
      ...present({
        [names.limit]: limit === null ? null : Math.max(limit, names.limitMin),
        temperature: request.temperature,
        top_p: request.topP,
        top_k: request.topK,
        seed: request.seed,
        presence_penalty: request.presencePenalty,
        frequency_penalty: request.frequencyPenalty,
        stop_sequences: stopsOf(request),
      }),
    },
    ...(to.isStream ? { stream: true } : {}),
  }
}

function rejectUnsupported(request: ChatRequest): void {
  if (request.choices !== 1) throw cannotSay(request, 'choices')
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  if (request.output !== null) throw cannotSay(request, 'output')
  if (request.tools.length > 0 && request.toolChoice?.kind !== 'none') {
    throw cannotSay(request, 'tools')
  }
}

/** Replicate accepts stop texts as one text, separated by commas. */
function stopsOf(request: ChatRequest): string | null {
  const { stop, notes } = request
  const fitting = stop.filter((text) => !text.includes(','))
  notes.cutAt(stop.filter((text) => text.includes(',')))
  return fitting.length === 0 ? null : fitting.join(',')
}

function textsOf(request: ChatRequest, names: InputNames): JsonRecord {
  const system = request.system.map(({ text }) => text).join('\n\n')
  const prompt = promptOf(request)
  if (system === '') return { prompt }
  if (names.system === null) return { prompt: `${system}\n\n${prompt}` }
  return { prompt, [names.system]: system }
}

/**
 * Returns a single question unchanged; a conversation becomes a transcript that ends with the
 * assistant's turn.
 */
function promptOf(request: ChatRequest): string {
  const turns = turnsOf(request.messages).map((turn) => ({
    isUser: turn.role === 'user',
    text: wordsOf(turn, request),
  }))
  const [only] = turns
  if (only === undefined) throw missingField('messages')
  if (turns.length === 1 && only.isUser) return only.text
  const lines = turns.map(({ isUser, text }) => `${isUser ? 'User' : 'Assistant'}: ${text}`)
  return [...lines, ...(turns.at(-1)?.isUser === true ? ['Assistant:'] : [])].join('\n\n')
}

function wordsOf({ role, parts }: Message, request: ChatRequest): string {
  const said: readonly (UserPart | AssistantPart)[] = parts
  if (said.some(({ kind }) => kind === 'toolCall' || kind === 'toolResult')) {
    throw cannotSay(request, 'tools')
  }
  const media = role === 'assistant' ? said.find((part) => part.kind === 'media') : undefined
  if (media?.kind === 'media') throw unsupportedField(media.at)
  return joinedText(said)
}

function imagesOf({ messages }: ChatRequest, { pictures, isList }: InputNames): JsonRecord {
  const shown = messages.flatMap(({ role, parts }) =>
    role === 'user' ? parts.filter((part) => part.kind === 'media') : [],
  )
  const [first, second] = shown
  if (first === undefined) return {}
  if (!isList && second !== undefined) throw unsupportedField(second.at)
  return { [pictures]: isList ? shown.map(addressOf) : addressOf(first) }
}

/** Files are sent by URL, which may be a `data:` URL. */
function addressOf({ at, source }: MediaPart): string {
  if (source.from === 'text' || mediaFamily(source) !== 'image') throw unsupportedField(at)
  return source.from === 'url' ? source.url : dataUrl(source)
}
