import { jsonAnswer, type Answer, type StreamEvent } from '../answer.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { isStreamed } from '../chat-answers.ts'
import { cohereLayout } from './layouts.ts'
import { produceNative, textsOf, wordsOf, type NativeProduced } from '../dialects/native-wishes.ts'

const PROMPT_TOKENS = 11
/** Tokens that Cohere's own preamble adds to the prompt, unbilled. */
const PREAMBLE_TOKENS = 60
const PLAN = 'I will look it up.'

const MEMBERS = new Set(
  (
    'model messages stream tools tool_choice strict_tools documents citation_options ' +
    'response_format safety_mode max_tokens stop_sequences temperature seed frequency_penalty ' +
    'presence_penalty k p logprobs thinking priority'
  ).split(' '),
)

/** `POST /v2/chat`: named events, and usage in two forms. */
export function cohereChatAnswer(call: Call): Answer {
  const { json } = call
  const problem = problemOf(call)
  if (problem !== null) return jsonAnswer({ id: 'fixed', message: problem }, 400)
  const produced = produceNative(call, wishesOf(json))
  const finish = { finish_reason: finishReason(produced), ...usageOf(call, produced) }
  if (isStreamed(call)) {
    return { kind: 'stream', events: eventsOf(produced, finish), layout: cohereLayout }
  }
  const { toolCalls, pieces } = produced
  const message =
    toolCalls.length === 0
      ? { role: 'assistant', content: [{ type: 'text', text: pieces.join('') }] }
      : { role: 'assistant', tool_plan: PLAN, tool_calls: toolCalls }
  return jsonAnswer({ id: 'c-fixed', message, ...finish })
}

/** `POST /v2/embed`. */
export function cohereEmbedAnswer({ json, directives }: Call): Answer {
  if (typeof json.input_type !== 'string') {
    return jsonAnswer({ message: 'input_type parameter is required' }, 400)
  }
  const texts = textsOf(json.texts)
  const float = texts.map((_, index) => [0.5, -0.25, index])
  const input = directives.promptTokens ?? texts.length * 2
  const meta = { api_version: { version: '2' }, billed_units: { input_tokens: input } }
  return jsonAnswer({ id: 'e-fixed', texts, embeddings: { float }, meta })
}

const RANK_MEMBERS = new Set('model query documents top_n max_tokens_per_doc'.split(' '))

/** `POST /v2/rerank`. */
export function cohereRankAnswer({ json }: Call): Answer {
  const stranger = Object.keys(json).find((name) => !RANK_MEMBERS.has(name))
  if (stranger !== undefined) return jsonAnswer({ message: `unknown field: ${stranger}` }, 422)
  const results = textsOf(json.documents).map((_, index) => ({
    index,
    relevance_score: 1 / (index + 1),
  }))
  const meta = { api_version: { version: '2' }, billed_units: { search_units: 1 } }
  return jsonAnswer({ id: 'r-fixed', results, meta })
}

function problemOf({ json, authorization }: Call): string | null {
  if (!authorization.startsWith('Bearer ')) return 'no api key supplied'
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return `unknown field: parameter '${stranger}' is not a valid field`
  const choice = json.tool_choice
  if (choice !== undefined && choice !== 'REQUIRED' && choice !== 'NONE') {
    return 'tool_choice must be one of REQUIRED, NONE'
  }
  return null
}

function wishesOf(json: Json) {
  const last = objectOf(listOf(json.messages).at(-1))
  const format = objectOf(json.response_format)
  const schema = objectOf(format.json_schema)
  const hasSchema = Object.keys(schema).length > 0
  const words: Record<string, string> = { REQUIRED: 'required', NONE: 'none' }
  return {
    tools: listOf(json.tools).map((tool) => {
      const { name, parameters } = objectOf(objectOf(tool).function)
      return { name, parameters: objectOf(parameters) }
    }),
    choice: words[textOf(json.tool_choice) ?? ''] ?? null,
    lastWords: last.role === 'user' ? wordsOf(last.content) : '',
    schema: hasSchema ? schema : null,
    wantsJson: format.type === 'json_object' && !hasSchema,
    maxTokens: json.max_tokens,
    stops: textsOf(json.stop_sequences),
  }
}

function finishReason({ stopSequence, finishReason: reason }: NativeProduced): string {
  if (stopSequence !== null) return 'STOP_SEQUENCE'
  return { stop: 'COMPLETE', length: 'MAX_TOKENS', tool_calls: 'TOOL_CALL' }[reason]
}

function eventsOf({ pieces, toolCalls }: NativeProduced, finish: Json): StreamEvent[] {
  const text = [
    named('content-start', { index: 0, delta: content({ type: 'text', text: '' }) }),
    ...pieces.map((piece) => named('content-delta', { index: 0, delta: content({ text: piece }) })),
    named('content-end', { index: 0 }),
  ]
  const calls = toolCalls.flatMap(({ id, type, function: { name, arguments: given } }, index) => {
    const start = { id, type, function: { name, arguments: '' } }
    const middle = Math.ceil(given.length / 2)
    const halves = [given.slice(0, middle), given.slice(middle)]
    return [
      named('tool-call-start', { index, delta: { message: { tool_calls: start } } }),
      ...halves.map((half) => {
        const delta = { message: { tool_calls: { function: { arguments: half } } } }
        return named('tool-call-delta', { index, delta })
      }),
      named('tool-call-end', { index }),
    ]
  })
  const plan = named('tool-plan-delta', { delta: { message: { tool_plan: PLAN } } })
  const start = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
  return [
    named('message-start', { id: 'c-fixed', delta: { message: start } }),
    ...(calls.length === 0 ? text : [plan, ...calls]),
    named('message-end', { delta: finish }),
  ]
}

const content = (members: Json): Json => ({ message: { content: members } })

const named = (name: string, members: Json): StreamEvent => ({
  name,
  data: JSON.stringify({ type: name, ...members }),
})

function usageOf({ directives }: Call, { completionTokens }: NativeProduced): Json {
  if (directives.usage === 'never') return {}
  const input = directives.promptTokens ?? PROMPT_TOKENS
  return {
    usage: {
      billed_units: { input_tokens: input, output_tokens: completionTokens },
      tokens: { input_tokens: input + PREAMBLE_TOKENS, output_tokens: completionTokens },
      cached_tokens: directives.cachedTokens,
    },
  }
}
