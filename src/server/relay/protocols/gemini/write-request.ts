import { hasFeature } from '../../../model/capabilities.ts'
import { capabilitiesOf } from '../../../model/model-table.ts'
import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  OutputFormat,
  TextPart,
  ToolResultPart,
  UserPart,
} from '../canonical/chat-request.ts'
import { mediaFamily, typeAtUrl } from '../canonical/media.ts'
import { resultWords, dialogueOf, toolNames, withQuestion } from '../canonical/turns.ts'
import { unsupportedField } from '../canonical/reading.ts'
import { ownSignature } from '../canonical/signature.ts'
import type { Target } from '../dialect/dialect.ts'
import { adjustField, cannotSay } from '../dialect/field-names.ts'
import { fittingStops, withoutLacking, type Steering } from '../dialect/steering.ts'
import { isRecord, parseJson, present, type JsonRecord } from '../../json/json-value.ts'
import { geminiThinking } from './thinking.ts'

/** Source: Gemini API reference, "Generating content", `GenerationConfig`. */
export const GEMINI_LACKS: readonly Steering[] = ['userId']

const STOPS_MAX = 5
/**
 * Files whose type Google determines itself: files stored at Google, and YouTube videos. All other
 * https files are fetched by Google, not by this gateway, and need a type. Sources: Gemini API
 * documentation, "File input methods", "External HTTP / Signed URLs"; Vertex AI, "FileData".
 */
const KNOWS_TYPE =
  /^(?:gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/|https:\/\/(?:www\.|m\.)?youtube\.com\/|https:\/\/youtu\.be\/)/i
/** Placeholder for a lost signature, from Gemini's documentation, "Thought signatures". */
const NO_SEAL = 'skip_thought_signature_validator'

/**
 * Writes the request as Gemini accepts it. Source: Gemini API reference, "Generating content".
 * Schemas are sent as JSON Schema (`parametersJsonSchema`, `responseJsonSchema`), so that nothing
 * of them is lost. Cache marks and user names are dropped: Gemini caches prompts by itself and
 * takes no names. It cannot be limited to one call at a time, so its answer is limited instead. The
 * model and whether it is a stream are in the URL.
 */
export function writeGeminiRequest(sent: ChatRequest, to: Target): JsonRecord {
  const request = withoutLacking(withQuestion(sent), GEMINI_LACKS)
  const { system, output } = request
  const stop = fittingStops(request, { count: STOPS_MAX })
  // Gemini's log probabilities have a format that other clients cannot read.
  if (request.topLogprobs !== null) throw cannotSay(request, 'topLogprobs')
  const config = present({
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    maxOutputTokens: request.maxCompletionTokens,
    stopSequences: stop.length === 0 ? null : stop,
    candidateCount: request.choices === 1 ? null : request.choices,
    seed: request.seed,
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    ...formatOf(output),
    responseModalities: request.modalities?.map((modality) => modality.toUpperCase()),
    thinkingConfig: geminiThinking(request, to),
  })
  const texts = system.filter(({ text }) => text !== '').map(({ text }) => ({ text }))
  return {
    contents: contentsOf(request.messages, to),
    ...(texts.length === 0 ? {} : { systemInstruction: { parts: texts } }),
    ...toolsOf(request, to),
    ...safetyOf(to),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  }
}

/** Source: Gemini API reference, "Safety settings": the kinds of harm that can be adjusted. */
const HARMS = ['HARASSMENT', 'HATE_SPEECH', 'SEXUALLY_EXPLICIT', 'DANGEROUS_CONTENT'] as const

const safetyOf = ({ safety: threshold }: Target): JsonRecord =>
  threshold === undefined
    ? {}
    : {
        safetySettings: HARMS.map((harm) => ({ category: `HARM_CATEGORY_${harm}`, threshold })),
      }

function formatOf(output: OutputFormat | null): JsonRecord {
  if (output === null) return {}
  const type = { responseMimeType: 'application/json' }
  return output.kind === 'json' ? type : { ...type, responseJsonSchema: output.schema }
}

/**
 * To use its search beside functions, the Gemini API needs a member that Vertex does not have.
 * Source: Google's SDK, `ToolConfig`.
 */
function toolsOf(request: ChatRequest, { traits }: Target): JsonRecord {
  const { tools, toolChoice, search } = request
  // Google's search cannot be made mandatory.
  if (search?.isForced === true) adjustField(request, 'toolChoice')
  const domains = search?.blockedDomains.value ?? []
  const googleSearch = domains.length === 0 ? {} : { excludeDomains: domains }
  const searching = search === undefined ? [] : [{ googleSearch }]
  if (tools.length === 0) return search === undefined ? {} : { tools: searching }
  const isTold = search !== undefined && traits?.isVertexAi !== true
  const declared = tools.map(({ name, description, schema }) =>
    present({ name, description, parametersJsonSchema: schema }),
  )
  return {
    tools: [...searching, { functionDeclarations: declared }],
    ...(toolChoice === null && !isTold
      ? {}
      : {
          toolConfig: {
            ...(toolChoice === null ? {} : { functionCallingConfig: callingOf(toolChoice) }),
            ...(isTold ? { includeServerSideToolInvocations: true } : {}),
          },
        }),
  }
}

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const

function callingOf(choice: NonNullable<ChatRequest['toolChoice']>): JsonRecord {
  if (choice.kind === 'tool') return { mode: 'ANY', allowedFunctionNames: [choice.name] }
  return { mode: MODES[choice.kind] }
}

/**
 * Returns the conversation in turns. Ids join calls and results from Gemini 3 on; Vertex rejects
 * them for older models, which use the order. Source: Gemini API documentation, "Function calling";
 * `FunctionCall` and `FunctionResponse` in Vertex AI's discovery document.
 */
function contentsOf(messages: readonly Message[], to: Target): JsonRecord[] {
  const hasIds = hasFeature(capabilitiesOf(to), 'tool_call_ids')
  // Names of the turns so far: clients that number the calls of each turn anew reuse ids.
  const names = new Map<string, string>()
  return dialogueOf(messages, to).map((turn) => {
    for (const [id, name] of toolNames([turn])) names.set(id, name)
    return turn.role === 'user'
      ? { role: 'user', parts: turn.parts.flatMap((part) => writeUser(part, names, hasIds)) }
      : { role: 'model', parts: writeModel(turn.parts, hasIds) }
  })
}

const writePlain = (part: TextPart | MediaPart): JsonRecord[] => {
  if (part.kind === 'media') return [...nameOf(part), writeMedia(part)]
  return part.text === '' ? [] : [{ text: part.text }]
}

/** The name of a document as text, since the dialect has no member for it; none for plain text. */
const nameOf = ({ title, source }: MediaPart): JsonRecord[] =>
  title !== null && title !== '' && source.from !== 'text' && mediaFamily(source) === 'document'
    ? [{ text: `${title}:` }]
    : []

function writeUser(
  part: UserPart,
  names: ReadonlyMap<string, string>,
  hasIds: boolean,
): JsonRecord[] {
  if (part.kind !== 'toolResult') return writePlain(part)
  const media = part.parts.filter((inner) => inner.kind === 'media')
  const { callId: id } = part
  const name = part.name ?? names.get(id) ?? id
  return [
    { functionResponse: { ...(hasIds ? { id } : {}), name, response: responseOf(part) } },
    ...media.flatMap(writePlain),
  ]
}

/** Gemini requires an object: the result's own, or one around its text. */
function responseOf(result: ToolResultPart): JsonRecord {
  const text = resultWords(result)
  if (result.isError) return { error: text }
  const value = parseJson(text)
  return isRecord(value) ? value : { result: text }
}

function writeModel(parts: readonly AssistantPart[], isNew: boolean): JsonRecord[] {
  const written: JsonRecord[] = []
  // The thought before a call may have the call's signature: some clients have no other member.
  let seal: string | null = null
  let calls = 0
  for (const part of parts) {
    switch (part.kind) {
      case 'text':
      case 'media':
        written.push(...writePlain(part))
        break
      case 'thinking':
        seal = ownSignature(part.signature, 'gemini') ?? seal
        break
      case 'toolCall': {
        const { id, name } = part
        const own = ownSignature(part.signature, 'gemini') ?? seal
        // Of parallel calls only the first is signed.
        const lost = calls === 0 && isNew ? NO_SEAL : null
        const sent = parseJson(part.argumentsJson)
        const args = isRecord(sent) ? sent : {}
        written.push(
          present({
            functionCall: isNew ? { id, name, args } : { name, args },
            thoughtSignature: own ?? lost,
          }),
        )
        seal = null
        calls += 1
        break
      }
      default:
        part satisfies never
    }
  }
  const last = written.at(-1)
  // A signature without a call is the thought's that led to the answer's text.
  return seal !== null && last !== undefined && 'text' in last
    ? [...written.slice(0, -1), { ...last, thoughtSignature: seal }]
    : written
}

function writeMedia({ at, source }: MediaPart): JsonRecord {
  switch (source.from) {
    case 'data':
      return { inlineData: { mimeType: source.mimeType, data: source.data } }
    case 'text': {
      const data = Buffer.from(source.text).toString('base64')
      return { inlineData: { mimeType: 'text/plain', data } }
    }
    case 'url':
      if (KNOWS_TYPE.test(source.url)) {
        return { fileData: present({ mimeType: source.mimeType, fileUri: source.url }) }
      }
      if (!/^https:\/\//i.test(source.url)) throw unsupportedField(at)
      return { fileData: { mimeType: typeAtUrl(source), fileUri: source.url } }
    default:
      return source satisfies never
  }
}
