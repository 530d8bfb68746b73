import { jsonAnswer, range, streamAnswer, type Answer } from './answer.ts'
import { countOf, objectOf, type Call, type Json } from './call.ts'
import { produceChat, produceText, type Produced } from './produced-text.ts'
import { answerId } from './script.ts'
import { usageMembers, type UsageCounts } from './usage.ts'

const CREATED_SECONDS = 1_700_000_000
const CHAT_PROMPT_TOKENS = 11
const COMPLETION_PROMPT_TOKENS = 5
const completionRecorded = { pieces: [' forty-two'], completionTokens: 3 }

/** `POST …/chat/completions`, plain and streamed. */
export function chatAnswer(call: Call): Answer {
  const produced = produceChat(call)
  const choiceCount = countOf(call.json.n) ?? 1
  const counts = countsOf(call, produced, CHAT_PROMPT_TOKENS)
  if (isStreamed(call)) return chatStream(call, produced, counts)
  const head = {
    id: answerId(call, 'chatcmpl-'),
    object: 'chat.completion',
    created: CREATED_SECONDS,
  }
  const choices = range(choiceCount).map((index) => ({
    index,
    message: chatMessage(produced),
    finish_reason: produced.finishReason,
  }))
  return jsonAnswer({
    ...head,
    model: call.model,
    choices,
    ...(call.directives.usage === 'never' ? {} : usageMembers(counts, call.directives.usageShape)),
  })
}

/** `POST …/completions`, the legacy endpoint. */
export function completionAnswer(call: Call): Answer {
  const produced = produceText(call, completionRecorded)
  const choiceCount = countOf(call.json.n) ?? 1
  const counts = countsOf(call, produced, COMPLETION_PROMPT_TOKENS)
  const head = {
    id: 'cmpl-fixed',
    object: 'text_completion',
    created: CREATED_SECONDS,
    model: call.model,
  }
  const choice = (text: string, index: number, finishReason: string | null) => ({
    text,
    index,
    logprobs: null,
    finish_reason: finishReason,
  })
  const indexes = range(choiceCount)
  if (isStreamed(call)) {
    const texts = produced.pieces.flatMap((piece) =>
      indexes.map((index) => ({ ...head, choices: [choice(piece, index, null)] })),
    )
    const ends = indexes.map((index) => ({
      ...head,
      choices: [choice('', index, produced.finishReason)],
    }))
    return streamAnswer([...texts, ...endWithUsage(call, ends, head, counts)])
  }
  const choices = indexes.map((index) =>
    choice(produced.pieces.join(''), index, produced.finishReason),
  )
  const usage =
    call.directives.usage === 'never' ? {} : usageMembers(counts, call.directives.usageShape)
  return jsonAnswer({ ...head, choices, ...usage })
}

function chatMessage(produced: Produced): Json {
  if (produced.toolCalls.length > 0) {
    return { role: 'assistant', content: null, tool_calls: produced.toolCalls }
  }
  return { role: 'assistant', content: produced.pieces.join('') }
}

function chatStream(call: Call, produced: Produced, counts: UsageCounts): Answer {
  const head = {
    id: answerId(call, 'chatcmpl-'),
    object: 'chat.completion.chunk',
    created: CREATED_SECONDS,
    model: call.model,
  }
  const indexes = range(countOf(call.json.n) ?? 1)
  const chunk = (index: number, delta: Json, finishReason: string | null = null) => ({
    ...head,
    choices: [{ index, delta, finish_reason: finishReason }],
  })
  const hasTools = produced.toolCalls.length > 0
  const first = { role: 'assistant', content: hasTools ? null : '' }
  const deltas: Json[] = hasTools
    ? produced.toolCalls.flatMap(toolCallDeltas)
    : produced.pieces.map((content) => ({ content }))
  const ends = indexes.map((index) => chunk(index, {}, produced.finishReason))
  return streamAnswer([
    ...indexes.map((index) => chunk(index, first)),
    ...deltas.flatMap((delta) => indexes.map((index) => chunk(index, delta))),
    ...endWithUsage(call, ends, head, counts),
  ])
}

/** Splits a tool call into deltas: id and name first, then its arguments in two halves. */
function toolCallDeltas(toolCall: Produced['toolCalls'][number], index: number): Json[] {
  const { id, type, function: called } = toolCall
  const middle = Math.ceil(called.arguments.length / 2)
  const halves = [called.arguments.slice(0, middle), called.arguments.slice(middle)]
  return [
    { tool_calls: [{ index, id, type, function: { name: called.name, arguments: '' } }] },
    ...halves.map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
  ]
}

/** Adds the finish chunks and the usage, placed according to the mode and `stream_options`. */
function endWithUsage(call: Call, ends: Json[], head: Json, counts: UsageCounts): Json[] {
  const { usage, usageShape } = call.directives
  const members = usageMembers(counts, usageShape)
  if (usage === 'in-finish-chunk') return [...ends.slice(0, -1), { ...ends.at(-1), ...members }]
  const isAsked = objectOf(call.json.stream_options).include_usage === true
  const isSent = usage === 'always' || (usage === 'when-asked' && isAsked)
  return isSent ? [...ends, { ...head, choices: [], ...members }] : ends
}

function countsOf(call: Call, produced: Produced, promptTokens: number): UsageCounts {
  const { directives } = call
  const { cachedTokens, reasoningTokens } = directives
  const completionTokens = produced.completionTokens * (countOf(call.json.n) ?? 1)
  return {
    promptTokens: directives.promptTokens ?? promptTokens + cachedTokens,
    completionTokens: completionTokens + reasoningTokens,
    cachedTokens,
    reasoningTokens,
  }
}

/** Whether the response is a stream: requested, and not prevented by a fault. */
export function isStreamed(call: Call): boolean {
  const { trouble, alwaysStreams } = call.directives
  return (call.json.stream === true || alwaysStreams) && trouble !== 'json-when-stream'
}
