import { createHash, createHmac } from 'node:crypto'
import { jsonAnswer, type Answer, type StreamEvent, type StreamLayout } from '../answer.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { isStreamed } from '../chat-answers.ts'
import { produceNative, textsOf, type NativeProduced } from '../dialects/native-wishes.ts'

/** The only account. */
export const TENCENT_ACCOUNT = {
  appId: '1250000000',
  secretId: 'AKIDfakefakefakefakefakefakefakefake',
  secretKey: 'fakefakefakefakefakefakefakefake',
}
/** The host in the signature, for any address. */
const HOST = 'hunyuan.tencentcloudapi.com'
const VERSION = '2023-09-01'
const PROMPT_TOKENS = 11
const THOUGHT = 'Six times seven.'

const AUTHORIZATION =
  /^TC3-HMAC-SHA256 Credential=([^/]+)\/(\d{4}-\d\d-\d\d)\/hunyuan\/tc3_request, SignedHeaders=content-type;host;x-tc-action, Signature=([0-9a-f]{64})$/

const MEMBERS = new Set(
  (
    'Model Messages Stream StreamModeration TopP Temperature EnableEnhancement Tools ToolChoice ' +
    'CustomTool SearchInfo Citation Seed Stop EnableThinking'
  ).split(' '),
)

const ERROR_CODES: Record<number, string> = {
  400: 'InvalidParameter',
  401: 'AuthFailure.SignatureFailure',
  402: 'FailedOperation.ResourcePackExhausted',
  403: 'UnauthorizedOperation',
  404: 'ResourceNotFound',
  429: 'RequestLimitExceeded',
  503: 'ResourceUnavailable',
}

/** Errors have status 200. */
export const tencentErrorAnswer = (status: number, message: string): Answer =>
  coded(ERROR_CODES[status] ?? 'InternalError', message)

const coded = (Code: string, Message: string): Answer =>
  jsonAnswer({ Response: { Error: { Code, Message }, RequestId: 'r-fixed' } })

const layout: StreamLayout = {
  contentType: 'text/event-stream',
  bytes: ({ data }) => Buffer.from(`data: ${data}\n\n`),
  error: (message) => ({ data: JSON.stringify({ ErrorMsg: { Msg: message, Code: 2001 } }) }),
}

/** `POST /`, with the action in a header. */
export function tencentAnswer(call: Call): Answer {
  const signed = signatureProblem(call)
  if (signed !== null) return coded('AuthFailure.SignatureFailure', signed)
  switch (call.headers['x-tc-action']) {
    case 'ChatCompletions':
      return chatAnswer(call)
    case 'GetEmbedding':
      return embeddingAnswer(call)
    default:
      return coded('InvalidAction', 'The request action is invalid.')
  }
}

/** Verifies the signature byte by byte; null if it is valid. */
function signatureProblem(call: Call): string | null {
  const { headers, bytes } = call
  const [, id, day = '', signature] = AUTHORIZATION.exec(call.authorization) ?? []
  if (signature === undefined) return 'The Authorization header is malformed.'
  if (id !== TENCENT_ACCOUNT.secretId) return 'The SecretId is not found.'
  const seconds = Number(headers['x-tc-timestamp'])
  if (!Number.isInteger(seconds)) return 'X-TC-Timestamp is missing.'
  if (new Date(seconds * 1000).toISOString().slice(0, 10) !== day) return 'Signature expired.'
  if (headers['x-tc-version'] !== VERSION) return 'X-TC-Version is wrong.'
  const hash = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')
  const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text)
  const canonical = [
    'POST',
    '/',
    '',
    `content-type:${headers['content-type']}`,
    `host:${HOST}`,
    `x-tc-action:${String(headers['x-tc-action']).toLowerCase()}`,
    '',
    'content-type;host;x-tc-action',
    hash(bytes),
  ].join('\n')
  const scope = `${day}/hunyuan/tc3_request`
  const text = `TC3-HMAC-SHA256\n${seconds}\n${scope}\n${hash(canonical)}`
  const ofDay = mac(`TC3${TENCENT_ACCOUNT.secretKey}`, day).digest()
  const key = mac(mac(ofDay, 'hunyuan').digest(), 'tc3_request').digest()
  return mac(key, text).digest('hex') === signature ? null : 'The signature does not match.'
}

function chatAnswer(call: Call): Answer {
  const { json } = call
  const problem = chatProblem(json)
  if (problem !== null) return coded('InvalidParameter', problem)
  const produced = produceNative(call, wishesOf(json))
  const head = { Created: 1_700_000_000, Id: 'h-fixed', Note: 'made by a machine' }
  const finish = { stop: 'stop', length: 'stop', tool_calls: 'tool_calls' }[produced.finishReason]
  const thought = json.EnableThinking === true ? { ReasoningContent: THOUGHT } : {}
  if (isStreamed({ ...call, json: { stream: json.Stream } })) {
    return { kind: 'stream', events: eventsOf(call, produced, { head, finish, thought }), layout }
  }
  const ToolCalls = produced.toolCalls.map((tool, index) => toolCall(tool, index))
  const tools = ToolCalls.length === 0 ? {} : { ToolCalls }
  const Message = { Role: 'assistant', Content: produced.pieces.join(''), ...thought, ...tools }
  const Choices = [{ FinishReason: finish, Index: 0, Message }]
  const Usage = usageOf(call, produced.completionTokens)
  return jsonAnswer({ Response: { ...head, Choices, ...Usage, RequestId: 'r-fixed' } })
}

type Told = { head: Json; finish: string; thought: Json }

/** Every event contains the usage so far. */
function eventsOf(
  call: Call,
  { pieces, toolCalls, completionTokens }: NativeProduced,
  { head, finish, thought }: Told,
): StreamEvent[] {
  const deltas: Json[] = [
    ...(thought.ReasoningContent === undefined ? [] : [{ Content: '', ...thought }]),
    ...pieces.map((Content) => ({ Content })),
    ...toolCalls.flatMap((tool, index) => {
      const whole = toolCall(tool, index)
      const { arguments: given, name } = tool.function
      const middle = Math.ceil(given.length / 2)
      return [given.slice(0, middle), given.slice(middle)].map((Arguments, half) => ({
        Content: '',
        ToolCalls: [{ ...whole, Function: { Name: half === 0 ? name : '', Arguments } }],
      }))
    }),
  ]
  const events = deltas.map((delta, index) => ({
    ...head,
    Choices: [{ Delta: { Role: 'assistant', ...delta }, FinishReason: '', Index: 0 }],
    ...usageOf(call, Math.min(index + 1, completionTokens)),
  }))
  const last = {
    ...head,
    Choices: [{ Delta: { Role: 'assistant', Content: '' }, FinishReason: finish, Index: 0 }],
    ...usageOf(call, completionTokens),
  }
  return [...events, last].map((event) => ({ data: JSON.stringify(event) }))
}

function toolCall(tool: NativeProduced['toolCalls'][number], Index: number): Json {
  const { id, type, function: called } = tool
  return {
    Id: id,
    Type: type,
    Index,
    Function: { Name: called.name, Arguments: called.arguments },
  }
}

function usageOf({ directives }: Call, CompletionTokens: number): Json {
  if (directives.usage === 'never') return {}
  const PromptTokens = directives.promptTokens ?? PROMPT_TOKENS
  const TotalTokens = PromptTokens + CompletionTokens
  return { Usage: { PromptTokens, CompletionTokens, TotalTokens } }
}

function chatProblem(json: Json): string | null {
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return `The parameter ${stranger} is not recognized.`
  const messages = listOf(json.Messages).map(objectOf)
  const roles = messages.map(({ Role }) => Role)
  if (roles.lastIndexOf('system') > 0) return 'system must be the first message.'
  if (!['user', 'tool'].includes(String(roles.at(-1)))) return 'The last message is not a user’s.'
  const talk = roles.filter((role) => role !== 'system')
  const isDouble = talk.some((role, index) => role !== 'tool' && role === talk[index + 1])
  if (isDouble) return 'Messages must alternate.'
  const isEmpty = messages.some(
    ({ Role, Content, Contents }) => Role === 'user' && !Content && listOf(Contents).length === 0,
  )
  if (isEmpty) return 'Content must not be empty.'
  const badTool = listOf(json.Tools).find((tool) => {
    const { Name, Parameters } = objectOf(objectOf(tool).Function)
    return textOf(Name) === undefined || textOf(Parameters) === undefined
  })
  if (badTool !== undefined) return 'Tools: Parameters must be a text.'
  const choice = json.ToolChoice ?? 'auto'
  if (!['none', 'auto', 'custom'].includes(String(choice))) return 'ToolChoice is invalid.'
  return null
}

function wishesOf(json: Json) {
  const last = objectOf(listOf(json.Messages).at(-1))
  const words = listOf(last.Contents).map((part) => textOf(objectOf(part).Text) ?? '')
  const demanded = textOf(objectOf(objectOf(json.CustomTool).Function).Name) ?? null
  const choice = json.ToolChoice === 'custom' ? demanded : null
  return {
    tools: listOf(json.Tools).map((tool) => {
      const { Name, Parameters } = objectOf(objectOf(tool).Function)
      return { name: Name, parameters: objectOf(JSON.parse(String(Parameters))) }
    }),
    choice: json.ToolChoice === 'none' ? 'none' : choice,
    lastWords: last.Role === 'user' ? [textOf(last.Content) ?? '', ...words].join(' ') : '',
    schema: null,
    wantsJson: false,
    maxTokens: undefined,
    stops: textsOf(json.Stop),
  }
}

function embeddingAnswer({ json, directives }: Call): Answer {
  const texts = textsOf(json.InputList)
  if (texts.length === 0) return coded('MissingParameter', 'InputList is missing.')
  if (texts.length > 50) return coded('InvalidParameterValue', 'InputList is too long.')
  const PromptTokens = directives.promptTokens ?? texts.length * 2
  // Unordered: each entry contains its index.
  const Data = texts
    .map((_, Index) => ({ Embedding: [0.5, -0.25, Index], Index, Object: 'embedding' }))
    .toReversed()
  const Usage = { PromptTokens, TotalTokens: PromptTokens }
  return jsonAnswer({ Response: { Data, Usage, RequestId: 'r-fixed' } })
}
