import { jsonAnswer, type Answer } from '../answer.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { produceNative, textsOf, wordsOf } from '../dialects/native-wishes.ts'
import { ndjsonLayout } from './layouts.ts'

const PROMPT_TOKENS = 11
const THOUGHTS = ['Six times ', 'seven.']
const CREATED = '2026-01-02T03:04:05.678901Z'
const DURATIONS = { total_duration: 5_000_000, load_duration: 1_000_000 }

const OPTIONS = new Set(
  'num_predict temperature top_p top_k seed stop presence_penalty frequency_penalty'.split(' '),
)
const MEMBERS = new Set('model messages stream tools format think options keep_alive'.split(' '))

/** `POST /api/chat`: NDJSON, with tool calls that have objects as arguments and no ids. */
export function ollamaChatAnswer(call: Call): Answer {
  const { json } = call
  const problem = problemOf(json)
  if (problem !== null) return jsonAnswer({ error: problem }, 400)
  const produced = produceNative(call, wishesOf(json))
  const head = { model: call.model, created_at: CREATED }
  const calls = produced.toolCalls.map(({ function: { name, arguments: text } }) => ({
    function: { name, arguments: parsed(text) },
  }))
  const tools = calls.length === 0 ? {} : { tool_calls: calls }
  const thoughts = json.think === undefined || json.think === false ? [] : THOUGHTS
  const tail = {
    done: true,
    done_reason: produced.finishReason === 'length' ? 'length' : 'stop',
    ...DURATIONS,
    ...figuresOf(call, produced.completionTokens),
  }
  const isStream = json.stream !== false && call.directives.trouble !== 'json-when-stream'
  if (!isStream) {
    const thinking = thoughts.length === 0 ? {} : { thinking: thoughts.join('') }
    const message = { role: 'assistant', content: produced.pieces.join(''), ...thinking, ...tools }
    return jsonAnswer({ ...head, message, ...tail })
  }
  const messages: Json[] = [
    ...thoughts.map((thinking) => ({ content: '', thinking })),
    ...produced.pieces.map((content) => ({ content })),
    ...(calls.length === 0 ? [] : [{ content: '', ...tools }]),
  ]
  const lines = messages.map((message) => ({
    ...head,
    message: { role: 'assistant', ...message },
    done: false,
  }))
  const last = { ...head, message: { role: 'assistant', content: '' }, ...tail }
  const events = [...lines, last].map((line) => ({ data: JSON.stringify(line) }))
  return { kind: 'stream', events, layout: ndjsonLayout }
}

/** `POST /api/embed`. */
export function ollamaEmbedAnswer({ json, model, directives }: Call): Answer {
  const texts = Array.isArray(json.input) ? json.input : [json.input]
  return jsonAnswer({
    model,
    embeddings: texts.map((_, index) => [0.5, -0.25, index]),
    ...DURATIONS,
    prompt_eval_count: directives.promptTokens ?? texts.length * 2,
  })
}

function problemOf(json: Json): string | null {
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return `unknown member ${stranger}`
  const option = Object.keys(objectOf(json.options)).find((name) => !OPTIONS.has(name))
  if (option !== undefined) return `invalid option provided: ${option}`
  for (const message of listOf(json.messages).map(objectOf)) {
    if (typeof message.content !== 'string') return 'json: cannot unmarshal content into string'
    for (const sent of listOf(message.tool_calls)) {
      const { arguments: given } = objectOf(objectOf(sent).function)
      if (typeof given !== 'object') return 'json: cannot unmarshal arguments into object'
    }
    const image = listOf(message.images).find((data) => !/^[A-Za-z0-9+/]+=*$/.test(String(data)))
    if (image !== undefined) return 'illegal base64 data in images'
  }
  return null
}

function wishesOf(json: Json) {
  const last = objectOf(listOf(json.messages).at(-1))
  const options = objectOf(json.options)
  return {
    tools: listOf(json.tools).map((tool) => {
      const { name, parameters } = objectOf(objectOf(tool).function)
      return { name, parameters: objectOf(parameters) }
    }),
    choice: null,
    lastWords: last.role === 'user' ? wordsOf(last.content) : '',
    schema: typeof json.format === 'object' ? objectOf(json.format) : null,
    wantsJson: json.format === 'json',
    maxTokens: options.num_predict,
    stops: textOf(options.stop) === undefined ? textsOf(options.stop) : [String(options.stop)],
  }
}

function figuresOf({ directives }: Call, completionTokens: number): Json {
  const { usage, usageShape, promptTokens } = directives
  if (usage === 'never') return {}
  const spoilt: Record<string, unknown> = {
    negative: -completionTokens,
    string: String(completionTokens),
    huge: 1e308,
    nan: 'NaN',
    fraction: completionTokens + 0.5,
  }
  return {
    prompt_eval_count: promptTokens ?? PROMPT_TOKENS,
    eval_count: spoilt[usageShape] ?? completionTokens,
  }
}

const parsed = (text: string): unknown => JSON.parse(text)
