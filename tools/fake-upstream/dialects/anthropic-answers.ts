import { jsonAnswer, type Answer, type StreamEvent } from '../answer.ts'
import { checkedMessages } from './anthropic-checks.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { isStreamed } from '../chat-answers.ts'
import { answerId } from '../script.ts'
import { produceNative, textsOf, wordsOf, type NativeProduced } from './native-wishes.ts'

const PROMPT_TOKENS = 11
/** Thinking of the model before its reply, and the signature that it requires back. */
const THOUGHTS = ['Six times ', 'seven.']
export const ANTHROPIC_SEAL = 'c2VhbC1vZi1hbnRocm9waWM='

/**
 * `POST …/messages`: the Anthropic dialect, in which cached tokens are not part of the input
 * tokens.
 */
export function anthropicAnswer(call: Call): Answer {
  const refusal = checkedMessages(call)
  if (refusal !== null) return refusal
  const produced = produceNative(call, wishesOf(call.json))
  const content = blocksOf(call, produced)
  const stop = {
    stop_reason: stopReason(produced),
    stop_sequence: produced.stopSequence,
  }
  const head = {
    id: answerId(call, 'msg_'),
    type: 'message',
    role: 'assistant',
    model: call.model,
  }
  const output = produced.completionTokens + call.directives.reasoningTokens
  const usage = usageOf(call, output)
  if (!isStreamed(call)) return jsonAnswer({ ...head, content, ...stop, ...usage })
  const start = { ...head, content: [], stop_reason: null, stop_sequence: null }
  return {
    kind: 'stream',
    events: [
      named('message_start', { message: { ...start, ...usageOf(call, 1) } }),
      named('ping', {}),
      ...content.flatMap((block, index) => blockEvents(block, index, produced.pieces)),
      named('message_delta', { delta: stop, ...deltaUsage(call, output) }),
      named('message_stop', {}),
    ],
  }
}

/** `POST …/messages/count_tokens`. */
export function anthropicCountAnswer(call: Call): Answer {
  return (
    checkedMessages(call, { isCount: true }) ??
    jsonAnswer({ input_tokens: call.directives.promptTokens ?? PROMPT_TOKENS })
  )
}

function wishesOf(json: Json) {
  const choice = objectOf(json.tool_choice)
  const format = objectOf(objectOf(json.output_config).format)
  const turns = listOf(json.messages).map(objectOf)
  const last = turns.findLast(({ role }) => role !== 'system') ?? {}
  const demanded = choice.type === 'tool' ? textOf(choice.name) : undefined
  const words: Record<string, string> = { any: 'required', none: 'none' }
  return {
    tools: listOf(json.tools).map((tool) => ({
      name: objectOf(tool).name,
      parameters: objectOf(objectOf(tool).input_schema),
    })),
    choice: demanded ?? words[String(choice.type)] ?? null,
    lastWords: last.role === 'user' ? wordsOf(last.content) : '',
    schema: format.type === 'json_schema' ? objectOf(format.schema) : null,
    wantsJson: false,
    maxTokens: json.max_tokens,
    stops: textsOf(json.stop_sequences),
  }
}

function stopReason({ stopSequence, finishReason }: NativeProduced): string {
  if (stopSequence !== null) return 'stop_sequence'
  return { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }[finishReason]
}

const isThinking = ({ thinking }: Json): boolean => {
  const type = objectOf(thinking).type
  return type === 'enabled' || type === 'adaptive'
}

function blocksOf(call: Call, { pieces, toolCalls }: NativeProduced): Json[] {
  const thought = { type: 'thinking', thinking: THOUGHTS.join(''), signature: ANTHROPIC_SEAL }
  const texts = toolCalls.length > 0 ? [] : [{ type: 'text', text: pieces.join('') }]
  const calls = toolCalls.map(({ id, function: { name, arguments: text } }) => ({
    type: 'tool_use',
    id: id.replace('call_', 'toolu_'),
    name,
    input: parsed(text),
  }))
  return [...(isThinking(call.json) ? [thought] : []), ...texts, ...calls]
}

function blockEvents(block: Json, index: number, pieces: string[]): StreamEvent[] {
  const { empty, deltas } = deltasOf(block, pieces)
  return [
    named('content_block_start', { index, content_block: { ...block, ...empty } }),
    ...deltas.map((delta) => named('content_block_delta', { index, delta })),
    named('content_block_stop', { index }),
  ]
}

function deltasOf(block: Json, pieces: string[]): { empty: Json; deltas: Json[] } {
  if (block.type === 'text') {
    return { empty: { text: '' }, deltas: pieces.map((text) => ({ type: 'text_delta', text })) }
  }
  if (block.type === 'thinking') {
    const thoughts = THOUGHTS.map((thinking) => ({ type: 'thinking_delta', thinking }))
    const seal = { type: 'signature_delta', signature: ANTHROPIC_SEAL }
    return { empty: { thinking: '', signature: '' }, deltas: [...thoughts, seal] }
  }
  const text = JSON.stringify(block.input)
  const half = Math.ceil(text.length / 2)
  const parts = ['', text.slice(0, half), text.slice(half)]
  return {
    empty: { input: {} },
    deltas: parts.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  }
}

function usageOf(call: Call, outputTokens: number): Json {
  const { cachedTokens, cacheWriteTokens, cacheWriteHourTokens, promptTokens, usage } =
    call.directives
  if (usage === 'never') return {}
  return {
    usage: {
      input_tokens: promptTokens ?? PROMPT_TOKENS,
      cache_creation_input_tokens: cacheWriteTokens + cacheWriteHourTokens,
      cache_read_input_tokens: cachedTokens,
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWriteTokens,
        ephemeral_1h_input_tokens: cacheWriteHourTokens,
      },
      output_tokens: spoiled(call, outputTokens),
      service_tier: 'standard',
    },
  }
}

function deltaUsage(call: Call, outputTokens: number): Json {
  return call.directives.usage === 'never'
    ? {}
    : { usage: { output_tokens: spoiled(call, outputTokens) } }
}

function spoiled({ directives }: Call, count: number): unknown {
  switch (directives.usageShape) {
    case 'negative':
      return -count
    case 'string':
      return String(count)
    case 'huge':
      return 1e308
    case 'nan':
      return 'NaN'
    case 'fraction':
      return count + 0.5
    default:
      return count
  }
}

function named(name: string, members: Json): StreamEvent {
  return { name, data: JSON.stringify({ type: name, ...members }) }
}

const parsed = (text: string): unknown => JSON.parse(text)
