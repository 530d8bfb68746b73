import { jsonAnswer, type Answer, type StreamEvent, type StreamLayout } from '../answer.ts'
import { listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { produceNative } from '../dialects/native-wishes.ts'

const PROMPT_TOKENS = 11
const CHAT = '7382159487131697202'
const MEMBERS = new Set(
  (
    'bot_id user_id additional_messages stream custom_variables auto_save_history meta_data ' +
    'extra_params shortcut_command parameters'
  ).split(' '),
)
const CONTENT_TYPES = new Set<unknown>(['text', 'object_string'])
const OBJECT_TYPES = new Set<unknown>(['text', 'image', 'file', 'audio'])

/** Named events, without a space after the colons. */
const cozeLayout: StreamLayout = {
  contentType: 'text/event-stream',
  bytes: ({ name = '', data }) => Buffer.from(`event:${name}\ndata:${data}\n\n`),
  error: (message) => event('error', { code: 5000, msg: message }),
}

/**
 * `POST /v3/chat`: streams a bot's reply; without a stream, only the status of the running task.
 */
export function cozeChatAnswer(call: Call): Answer {
  const { json } = call
  const problem = problemOf(call)
  if (problem !== null) return jsonAnswer({ ...problem, detail: { logid: 'fixed' } })
  const head = { id: CHAT, conversation_id: '7381', bot_id: json.bot_id }
  if (json.stream !== true) {
    return jsonAnswer({ code: 0, msg: '', data: { ...head, status: 'in_progress' } })
  }
  const last = objectOf(listOf(json.additional_messages).at(-1))
  const { pieces, completionTokens } = produceNative(call, {
    tools: [],
    choice: null,
    lastWords: last.role === 'user' ? String(last.content) : '',
    schema: null,
    wantsJson: false,
    maxTokens: undefined,
    stops: [],
  })
  return {
    kind: 'stream',
    events: eventsOf({ call, head, pieces, completionTokens }),
    layout: cozeLayout,
  }
}

type Refused = { code: number; msg: string }

function problemOf({ json, authorization }: Call): Refused | null {
  if (!authorization.startsWith('Bearer ')) {
    return { code: 4100, msg: 'authentication is invalid' }
  }
  const wrong = (what: string): Refused => ({
    code: 4000,
    msg: `The field ${what} provided is not valid`,
  })
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return wrong(stranger)
  for (const name of ['bot_id', 'user_id']) {
    if ((textOf(json[name]) ?? '') === '') return wrong(name)
  }
  if (String(json.bot_id).startsWith('bot-')) return { code: 4200, msg: 'bot not found' }
  const messages = listOf(json.additional_messages).map(objectOf)
  if (messages.length === 0) return wrong('additional_messages')
  return messages.every(isMessage) ? null : wrong('additional_messages')
}

function isMessage({ role, content, content_type: type }: Json): boolean {
  if (role !== 'user' && role !== 'assistant') return false
  if (typeof content !== 'string' || !CONTENT_TYPES.has(type)) return false
  if (type === 'text') return true
  return listOf(JSON.parse(content)).every((part) => OBJECT_TYPES.has(objectOf(part).type))
}

interface Spoken {
  call: Call
  head: Json
  pieces: string[]
  completionTokens: number
}

function eventsOf({ call, head, pieces, completionTokens }: Spoken): StreamEvent[] {
  const message = { id: '7382', ...head, role: 'assistant', chat_id: CHAT }
  const answer = { ...message, type: 'answer', content_type: 'text' }
  const { usage, promptTokens } = call.directives
  const input = promptTokens ?? PROMPT_TOKENS
  const figures = {
    token_count: input + completionTokens,
    input_count: input,
    output_count: completionTokens,
  }
  return [
    event('conversation.chat.created', { ...head, status: 'created' }),
    event('conversation.chat.in_progress', { ...head, status: 'in_progress' }),
    ...pieces.map((content) => event('conversation.message.delta', { ...answer, content })),
    event('conversation.message.completed', { ...answer, content: pieces.join('') }),
    event('conversation.message.completed', {
      ...message,
      type: 'verbose',
      content: '{"msg_type":"generate_answer_finish"}',
    }),
    event('conversation.chat.completed', {
      ...head,
      status: 'completed',
      ...(usage === 'never' ? {} : { usage: figures }),
    }),
    { name: 'done', data: '"[DONE]"' },
  ]
}

const event = (name: string, data: Json): StreamEvent => ({ name, data: JSON.stringify(data) })
