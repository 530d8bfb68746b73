import { jsonAnswer, type Answer, type StreamEvent, type StreamLayout } from '../answer.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { isStreamed } from '../chat-answers.ts'
import { produceNative, textsOf, type NativeProduced } from '../dialects/native-wishes.ts'

/** The only application. */
export const BAIDU_ACCOUNT = { apiKey: 'fake-baidu-api-key-0123', secretKey: 'fake-baidu-secret' }

const PROMPT_TOKENS = 11
const LIFE_SECONDS = 2_592_000
const TOKEN_START = '24.fake-'
const THOUGHTS = 'It must be looked up.'

const MEMBERS = new Set(
  (
    'messages stream system temperature top_p penalty_score max_output_tokens stop ' +
    'response_format user_id functions tool_choice disable_search enable_citation'
  ).split(' '),
)

const ERROR_CODES: Record<number, number> = {
  400: 336_003,
  401: 336_004,
  403: 6,
  404: 3,
  429: 18,
  503: 336_100,
}

/** Errors have status 200. */
export const baiduErrorAnswer = (status: number, message: string): Answer =>
  coded(ERROR_CODES[status] ?? 336_000, message)

const coded = (error_code: number, error_msg: string): Answer =>
  jsonAnswer({ error_code, error_msg, id: 'as-fixed' })

const layout: StreamLayout = {
  contentType: 'text/event-stream',
  bytes: ({ data }) => Buffer.from(`data: ${data}\n\n`),
  error: (message) => ({ data: JSON.stringify({ error_code: 336_100, error_msg: message }) }),
}

let issued = 0

/** `POST /oauth/2.0/token`: issues a new token for the two keys. */
export function baiduTokenAnswer({ query, method }: Call): Answer {
  const isKnown =
    method === 'POST' &&
    query.get('grant_type') === 'client_credentials' &&
    query.get('client_id') === BAIDU_ACCOUNT.apiKey &&
    query.get('client_secret') === BAIDU_ACCOUNT.secretKey
  if (!isKnown) {
    return jsonAnswer({ error: 'invalid_client', error_description: 'unknown client id' }, 401)
  }
  issued += 1
  return jsonAnswer({ access_token: `${TOKEN_START}${issued}`, expires_in: LIFE_SECONDS })
}

/** First token with which each model named `…revoked…` was called. */
const revoked = new Map<string, string>()

/** Error for an invalid token; null if it is valid. */
function tokenProblem({ query, model }: Call): Answer | null {
  const token = query.get('access_token') ?? ''
  if (!token.startsWith(TOKEN_START)) {
    return coded(110, 'Access token invalid or no longer valid')
  }
  if (!model.includes('revoked')) return null
  const first = revoked.get(model) ?? token
  revoked.set(model, first)
  return first === token ? coded(111, 'Access token expired') : null
}

/** `POST …/wenxinworkshop/chat/{model}`. */
export function baiduChatAnswer(call: Call): Answer {
  const { json } = call
  const refusal = tokenProblem(call)
  if (refusal !== null) return refusal
  const problem = chatProblem(json)
  if (problem !== null) return coded(336_003, problem)
  const produced = produceNative(call, wishesOf(json))
  const end = endOf(call, produced)
  if (isStreamed(call)) {
    return { kind: 'stream', events: eventsOf(produced, end), layout }
  }
  const result = produced.pieces.join('')
  return jsonAnswer({ ...HEAD, object: 'chat.completion', ...FLAGS, result, ...end })
}

const HEAD = { id: 'as-fixed', object: 'chat.completion.chunk', created: 1_700_000_000 }
const FLAGS = { is_truncated: false, need_clear_history: false }

/** Last part of a response: finish reason, function call, usage. */
function endOf({ directives }: Call, produced: NativeProduced): Json {
  const { toolCalls, completionTokens, finishReason } = produced
  const [called] = toolCalls
  const call =
    called === undefined ? {} : { function_call: { ...called.function, thoughts: THOUGHTS } }
  const prompt_tokens = directives.promptTokens ?? PROMPT_TOKENS
  const usage = {
    prompt_tokens,
    completion_tokens: completionTokens,
    total_tokens: prompt_tokens + completionTokens,
  }
  return {
    finish_reason: { stop: 'normal', length: 'length', tool_calls: 'function_call' }[finishReason],
    ...call,
    ...(directives.usage === 'never' ? {} : { usage }),
  }
}

function eventsOf({ pieces }: NativeProduced, end: Json): StreamEvent[] {
  const texts = pieces.map((result, sentence_id) => ({
    ...HEAD,
    sentence_id,
    is_end: false,
    ...FLAGS,
    result,
  }))
  const last = {
    ...HEAD,
    sentence_id: pieces.length,
    is_end: true,
    ...FLAGS,
    result: '',
    ...end,
  }
  return [...texts, last].map((event) => ({ data: JSON.stringify(event) }))
}

function chatProblem(json: Json): string | null {
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return `unknown parameter ${stranger}`
  const messages = listOf(json.messages).map(objectOf)
  if (messages.length % 2 === 0) return 'the length of messages must be an odd number'
  for (const [index, { role, content, function_call: called }] of messages.entries()) {
    const isTurn = index % 2 === 0 ? role === 'user' || role === 'function' : role === 'assistant'
    if (!isTurn) return `the role of message with index ${index} is wrong`
    if (textOf(content) === undefined) return 'content must be a text'
    if (content === '' && called === undefined) return 'content must not be empty'
  }
  const { temperature, max_output_tokens: most } = json
  if (typeof temperature === 'number' && !(temperature > 0 && temperature <= 1)) {
    return 'temperature must be in (0, 1]'
  }
  if (typeof most === 'number' && most < 2) return 'max_output_tokens must be at least 2'
  const isBad = listOf(json.functions)
    .map(objectOf)
    .some(
      ({ name, description, parameters }) =>
        textOf(name) === undefined || textOf(description) === undefined || parameters === undefined,
    )
  return isBad ? 'functions: name, description and parameters are required' : null
}

function wishesOf(json: Json) {
  const last = objectOf(listOf(json.messages).at(-1))
  return {
    tools: listOf(json.functions).map((sent) => {
      const { name, parameters } = objectOf(sent)
      return { name, parameters: objectOf(parameters) }
    }),
    choice: textOf(objectOf(objectOf(json.tool_choice).function).name) ?? null,
    lastWords: last.role === 'user' ? String(last.content) : '',
    schema: null,
    wantsJson: json.response_format === 'json_object',
    maxTokens: json.max_output_tokens,
    stops: textsOf(json.stop),
  }
}

/** `POST …/wenxinworkshop/embeddings/{model}`. */
export function baiduEmbeddingAnswer(call: Call): Answer {
  const refusal = tokenProblem(call)
  if (refusal !== null) return refusal
  const texts = textsOf(call.json.input)
  if (texts.length === 0 || Object.keys(call.json).some((name) => name !== 'input')) {
    return coded(336_003, 'input must be a list of texts, and nothing else is known')
  }
  const most = call.path.endsWith('/tao_8k') ? 1 : 16
  if (texts.length > most) return coded(336_003, `the length of input must not exceed ${most}`)
  const data = texts
    .map((_, index) => ({ object: 'embedding', embedding: [0.5, -0.25, index], index }))
    .toReversed()
  const prompt_tokens = call.directives.promptTokens ?? texts.length * 2
  return jsonAnswer({
    ...HEAD,
    object: 'embedding_list',
    data,
    usage: { prompt_tokens, total_tokens: prompt_tokens },
  })
}

/** `POST …/wenxinworkshop/reranker/{model}`. */
export function baiduRankAnswer(call: Call): Answer {
  const refusal = tokenProblem(call)
  if (refusal !== null) return refusal
  const { query, documents, top_n: wanted, ...rest } = call.json
  const stranger = Object.keys(rest)[0]
  if (stranger !== undefined || textOf(query) === undefined) {
    return coded(336_003, `unknown parameter ${stranger}`)
  }
  const results = textsOf(documents)
    .map((document, index) => ({ document, relevance_score: 1 / (index + 1), index }))
    .slice(0, typeof wanted === 'number' ? wanted : undefined)
  const prompt_tokens = call.directives.promptTokens ?? results.length * 6
  return jsonAnswer({ ...HEAD, results, usage: { prompt_tokens, total_tokens: prompt_tokens } })
}
