import { createHash } from 'node:crypto'
import { jsonAnswer, type Answer, type StreamEvent } from '../answer.ts'
import { listOf, objectOf, type Call, type Json } from '../call.ts'
import { isStreamed } from '../chat-answers.ts'
import { chatRecorded, produceText, type Produced } from '../produced-text.ts'
import { usageMembers } from '../usage.ts'

const CREATED_SECONDS = 1_700_000_000
const PROMPT_TOKENS = 11

/** `POST …/responses`; the same request has the same id, another one has another. */
export function responsesAnswer(call: Call): Answer {
  const produced = produceText(call, chatRecorded)
  const id = `resp_${createHash('sha256').update(call.bytes).digest('hex').slice(0, 24)}`
  const output = [...toolItems(call), messageItem(produced)]
  const head = headOf(call, id)
  const response = { ...head, status: 'completed', output, usage: usageOf(call, produced) }
  if (!isStreamed(call)) return jsonAnswer(response)
  const begun = { ...head, status: 'in_progress', output: [], usage: null }
  return { kind: 'stream', events: numbered(eventsOf(begun, response, produced)) }
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

/** A built-in tool runs when it is declared and the input says what it is for. */
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

function eventsOf(begun: Json, response: Json, { pieces }: Produced): Json[] {
  const items = listOf(response.output).map(objectOf)
  const index = items.length - 1
  const message = items[index]
  const place = { item_id: 'msg_fixed', output_index: index, content_index: 0 }
  const text = pieces.join('')
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items
      .slice(0, -1)
      .map((item, at) => ({ type: 'response.output_item.done', output_index: at, item })),
    {
      type: 'response.output_item.added',
      output_index: index,
      item: { ...message, status: 'in_progress', content: [] },
    },
    {
      type: 'response.content_part.added',
      ...place,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
    { type: 'response.output_text.done', ...place, text },
    {
      type: 'response.content_part.done',
      ...place,
      part: { type: 'output_text', text, annotations: [] },
    },
    { type: 'response.output_item.done', output_index: index, item: message },
    { type: 'response.completed', response },
  ]
}

const numbered = (events: Json[]): StreamEvent[] =>
  events.map((event, index) => ({
    name: String(event.type),
    data: JSON.stringify({ ...event, sequence_number: index }),
  }))

/** `GET`, `DELETE` and the like of a stored response; any id exists. */
export function storedResponseAnswer(call: Call): Answer {
  const [, id = '', rest = ''] = /\/responses\/([^/]+)(?:\/(\w+))?$/.exec(call.path) ?? []
  if (rest === 'input_items') return jsonAnswer({ object: 'list', data: [], has_more: false })
  if (call.method === 'DELETE') return jsonAnswer({ id, object: 'response', deleted: true })
  const status = rest === 'cancel' ? 'cancelled' : 'completed'
  return jsonAnswer({ ...headOf(call, id), status, output: [] })
}
