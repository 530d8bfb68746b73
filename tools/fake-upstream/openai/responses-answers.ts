import { createHash } from 'node:crypto'
import { jsonAnswer, type Answer, type StreamEvent } from '../answer.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { isStreamed } from '../chat-answers.ts'
import { produceNative, wordsOf, type Wishes } from '../dialects/native-wishes.ts'
import type { Produced, ToolCall } from '../produced-text.ts'
import { usageMembers } from '../usage.ts'
import { responsesProblem, thoughtItem, THOUGHTS } from './thinking-checks.ts'

const CREATED_SECONDS = 1_700_000_000
const PROMPT_TOKENS = 11

/** `POST …/responses`; equal requests get equal ids. */
export function responsesAnswer(call: Call): Answer {
  const problem = responsesProblem(call)
  if (problem !== null) return problem
  const produced = produceNative(call, wishesOf(call.json))
  const id = `resp_${createHash('sha256').update(call.bytes).digest('hex').slice(0, 24)}`
  const thought = thoughtItem(call)
  const isCut = produced.finishReason === 'length'
  const output = [
    ...toolItems(call),
    ...(thought === null ? [] : [thought]),
    ...(produced.toolCalls.length > 0 ? produced.toolCalls.map(callItem) : [messageItem(produced)]),
  ]
  const head = headOf(call, id)
  const response = {
    ...head,
    status: isCut ? 'incomplete' : 'completed',
    ...(isCut ? { incomplete_details: { reason: 'max_output_tokens' } } : {}),
    output,
    usage: usageOf(call, produced),
  }
  if (!isStreamed(call)) return jsonAnswer(response)
  const begun = { ...head, status: 'in_progress', output: [], usage: null }
  return { kind: 'stream', events: numbered(eventsOf(begun, response, produced)) }
}

/** Functions are called as in chat completions. */
function wishesOf(json: Json): Wishes {
  const choice = objectOf(json.tool_choice)
  const format = objectOf(objectOf(json.text).format)
  const last = objectOf(listOf(json.input).at(-1))
  const isWord = json.tool_choice === 'required' || json.tool_choice === 'none'
  return {
    tools: listOf(json.tools)
      .map(objectOf)
      .filter(({ type }) => type === 'function')
      .map(({ name, parameters }) => ({ name, parameters: objectOf(parameters) })),
    choice: isWord ? String(json.tool_choice) : (textOf(choice.name) ?? null),
    lastWords: last.role === 'user' ? wordsOf(last.content) : '',
    schema: format.type === 'json_schema' ? objectOf(format.schema) : null,
    wantsJson: format.type === 'json_object',
    maxTokens: json.max_output_tokens,
    stops: [],
  }
}

const headOf = (call: Call, id: string): Json => ({
  id,
  object: 'response',
  created_at: CREATED_SECONDS,
  model: call.model,
  error: null,
  incomplete_details: null,
  previous_response_id: call.json.previous_response_id ?? null,
  tools: listOf(call.json.tools),
})

/** A hosted tool runs if it is declared and the input mentions its purpose. */
function toolItems({ json }: Call): Json[] {
  const said = JSON.stringify(json.input ?? '')
  const types = listOf(json.tools).map((tool) => String(objectOf(tool).type))
  const isSearch = types.some((type) => type.startsWith('web_search')) && said.includes('search')
  const isFiles = types.includes('file_search') && said.includes('files')
  return [
    ...(isSearch ? [{ type: 'web_search_call', id: 'ws_fixed', status: 'completed' }] : []),
    ...(isFiles ? [{ type: 'file_search_call', id: 'fs_fixed', status: 'completed' }] : []),
  ]
}

const callItem = ({ id, function: called }: ToolCall): Json => ({
  type: 'function_call',
  id: id.replace('call_', 'fc_'),
  status: 'completed',
  call_id: id,
  name: called.name,
  arguments: called.arguments,
})

const messageItem = ({ pieces }: Produced): Json => ({
  type: 'message',
  id: 'msg_fixed',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }],
})

function usageOf({ directives }: Call, produced: Produced): Json | null {
  const { cachedTokens, reasoningTokens, usageShape, usage } = directives
  if (usage === 'never') return null
  const counts = {
    promptTokens: directives.promptTokens ?? PROMPT_TOKENS + cachedTokens,
    completionTokens: produced.completionTokens + reasoningTokens,
    cachedTokens,
    reasoningTokens,
  }
  const members = usageMembers(counts, usageShape).usage
  return {
    input_tokens: members.prompt_tokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: members.completion_tokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: members.total_tokens,
  }
}

function eventsOf(begun: Json, response: Json, produced: Produced): Json[] {
  const items = listOf(response.output).map(objectOf)
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items.flatMap((item, index) => itemEvents(item, index, produced)),
    { type: `response.${String(response.status)}`, response },
  ]
}

function itemEvents(item: Json, index: number, { pieces }: Produced): Json[] {
  const at = { item_id: item.id, output_index: index }
  const done = { type: 'response.output_item.done', output_index: index, item }
  switch (item.type) {
    case 'message':
      return [added(index, { ...item, content: [] }), ...textEvents(at, pieces), done]
    case 'function_call':
      return [added(index, { ...item, arguments: '' }), ...argumentEvents(at, item), done]
    case 'reasoning': {
      const { encrypted_content: _seal, ...bare } = item
      const isShown = listOf(item.summary).length > 0
      return [added(index, { ...bare, summary: [] }), ...(isShown ? summaryEvents(at) : []), done]
    }
    default:
      return [done]
  }
}

const added = (index: number, item: Json): Json => ({
  type: 'response.output_item.added',
  output_index: index,
  item: { ...item, status: 'in_progress' },
})

function textEvents(at: Json, pieces: string[]): Json[] {
  const place = { ...at, content_index: 0 }
  const text = pieces.join('')
  const part = { type: 'output_text', text, annotations: [] }
  return [
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
    { type: 'response.output_text.done', ...place, text },
    { type: 'response.content_part.done', ...place, part },
  ]
}

function argumentEvents(at: Json, { arguments: given }: Json): Json[] {
  const text = String(given)
  const half = Math.ceil(text.length / 2)
  const type = 'response.function_call_arguments.delta'
  return [
    { type, ...at, delta: text.slice(0, half) },
    { type, ...at, delta: text.slice(half) },
    { type: 'response.function_call_arguments.done', ...at, arguments: text },
  ]
}

function summaryEvents(at: Json): Json[] {
  const place = { ...at, summary_index: 0 }
  const part = { type: 'summary_text', text: THOUGHTS.join('') }
  const type = 'response.reasoning_summary_text.delta'
  return [
    { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } },
    ...THOUGHTS.map((delta) => ({ type, ...place, delta })),
    { type: 'response.reasoning_summary_text.done', ...place, text: part.text },
    { type: 'response.reasoning_summary_part.done', ...place, part },
  ]
}

const numbered = (events: Json[]): StreamEvent[] =>
  events.map((event, index) => ({
    name: String(event.type),
    data: JSON.stringify({ ...event, sequence_number: index }),
  }))

/** `GET`, `DELETE`, `…/cancel` and `…/input_items` of a stored response; any id exists. */
export function storedResponseAnswer(call: Call): Answer {
  const [, id = '', rest = ''] = /\/responses\/([^/]+)(?:\/(\w+))?$/.exec(call.path) ?? []
  if (rest === 'input_items') return jsonAnswer({ object: 'list', data: [], has_more: false })
  if (call.method === 'DELETE') return jsonAnswer({ id, object: 'response', deleted: true })
  const status = rest === 'cancel' ? 'cancelled' : 'completed'
  return jsonAnswer({ ...headOf(call, id), status, output: [] })
}
