import { NOW_MARK } from './answer.ts'
import { countOf, isObject, listOf, objectOf, textOf, type Call, type Json } from './call.ts'
import { scriptedTurn } from './script.ts'

/** Output of a model: deterministic, and countable by hand (see README). */
export type Produced = {
  /** Text in stream chunks; joined, the text of a plain response. */
  pieces: string[]
  completionTokens: number
  finishReason: 'stop' | 'length' | 'tool_calls'
  toolCalls: ToolCall[]
}

export type ToolCall = {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

type Recorded = { pieces: string[]; completionTokens: number }

const ANSWER_PIECES = ['The ', 'answer ', 'is ', 'forty', '-two.']
const WIDE_PIECES = ['答案', '是', '四十二', ' 🎉', ' naïve', '。']
/** Number of chunks of a long text, unless set by `chunks-<n>`. */
const LONG_TEXT_CHUNKS = 20

const chatRecorded: Recorded = { pieces: ANSWER_PIECES, completionTokens: 7 }

export function produceChat(call: Call): Produced {
  const turn = call.script ? scriptedTurn(call.script, call, toolsOf(call)) : null
  if (turn !== null && 'text' in turn) {
    return produceText(call, { ...chatRecorded, pieces: turn.text.split(/(?<= )/) })
  }
  const toolCalls = turn === null ? callTools(call) : [turn.toolCall]
  if (toolCalls.length > 0) {
    const completionTokens = call.directives.completionTokens ?? chatRecorded.completionTokens
    return { pieces: [], completionTokens, finishReason: 'tool_calls', toolCalls }
  }
  return produceText(call, jsonText(call) ?? chatRecorded)
}

/** Applies the directives to `recorded`. */
export function produceText(call: Call, recorded: Recorded): Produced {
  const { directives } = call
  const completionTokens = directives.completionTokens ?? directives.chunks
  let pieces = recorded.pieces
  if (completionTokens !== null) pieces = dealWords(completionTokens, directives.chunks)
  if (directives.stamp) pieces = pieces.map(() => NOW_MARK)
  if (directives.splitUtf8) pieces = WIDE_PIECES
  if (directives.bigLineBytes > 0) pieces = ['x'.repeat(directives.bigLineBytes)]
  if (directives.echo) pieces = [call.bytes.toString()]
  return cutAtMax(call, {
    pieces,
    completionTokens: completionTokens ?? recorded.completionTokens,
    finishReason: 'stop',
    toolCalls: [],
  })
}

/** Distributes `count` words over chunks; each word is one token in cl100k and o200k. */
function dealWords(count: number, chunks: number | null): string[] {
  const pieceCount = chunks ?? Math.min(count, LONG_TEXT_CHUNKS)
  const pieces: string[] = []
  for (let index = 0; index < pieceCount; index++) {
    const from = Math.floor((index * count) / pieceCount)
    const to = Math.floor(((index + 1) * count) / pieceCount)
    const words = ' word'.repeat(to - from)
    pieces.push(index === 0 ? words.trimStart() : words)
  }
  return pieces
}

function cutAtMax(call: Call, produced: Produced): Produced {
  const max = countOf(call.json.max_completion_tokens) ?? countOf(call.json.max_tokens)
  if (!call.directives.obeyMax || max === undefined || max >= produced.completionTokens) {
    return produced
  }
  const words = produced.pieces.join('').split(/(?= )/).slice(0, max)
  return { ...produced, pieces: words, completionTokens: max, finishReason: 'length' }
}

/**
 * JSON if requested. As OpenAI requires, `json_object` applies only if a message contains "json";
 * otherwise the recorded sentence is returned.
 */
function jsonText(call: Call): Recorded | null {
  const format = objectOf(call.json.response_format)
  if (format.type === 'json_schema') {
    const sample = sampleOf(objectOf(objectOf(format.json_schema).schema))
    return { pieces: [JSON.stringify(sample)], completionTokens: 7 }
  }
  if (format.type === 'json_object' && /json/i.test(JSON.stringify(call.json.messages ?? ''))) {
    return { pieces: ['{"answer":', '42}'], completionTokens: 7 }
  }
  return null
}

const toolsOf = (call: Call): Json[] =>
  listOf(call.json.tools).map((tool) => objectOf(objectOf(tool).function))

/**
 * Tools are called if `tool_choice` requires it, or if the last message is the user's and contains
 * "tool" or the name of a tool. Every named tool is called, at least the first one.
 */
function callTools(call: Call): ToolCall[] {
  const tools = toolsOf(call)
  const choice = call.json.tool_choice
  if (tools.length === 0 || choice === 'none') return []
  const demanded = textOf(objectOf(objectOf(choice).function).name)
  if (demanded !== undefined) {
    return tools.filter((tool) => tool.name === demanded).map(toolCall)
  }
  const last = objectOf(listOf(call.json.messages).at(-1))
  const said = last.role === 'user' ? JSON.stringify(last.content ?? '') : ''
  const spoken = new Set(said.split(/[^\w-]+/))
  const named = tools.filter((tool) => spoken.has(String(tool.name)))
  if (named.length > 0) return named.map(toolCall)
  const asked = choice === 'required' || spoken.has('tool') || spoken.has('tools')
  return asked ? tools.slice(0, 1).map(toolCall) : []
}

function toolCall(tool: Json, index: number): ToolCall {
  const args = JSON.stringify(sampleOf(objectOf(tool.parameters)))
  return {
    id: `call_fixed_${index}`,
    type: 'function',
    function: { name: String(tool.name), arguments: args },
  }
}

/** Constant sample for a JSON Schema; supports what tool parameters need. */
function sampleOf(schema: Json): unknown {
  const choices = listOf(schema.enum)
  if (choices.length > 0) return choices[0]
  switch (schema.type) {
    case 'string':
      return 'forty-two'
    case 'number':
    case 'integer':
      return 42
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return isObject(schema.items) ? [sampleOf(schema.items)] : []
    default: {
      const properties = Object.entries(objectOf(schema.properties))
      return Object.fromEntries(properties.map(([name, part]) => [name, sampleOf(objectOf(part))]))
    }
  }
}
