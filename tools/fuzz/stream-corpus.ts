import { gzipSync } from 'node:zlib'
import type { DialectName } from '../../src/server/relay/protocols/canonical/chat-request.ts'

/**
 * Streams that upstreams have sent or could send: complete ones of each dialect, and malformed
 * variants. A case has the same name in each dialect.
 */
export interface StreamCase {
  name: string
  bytes: Buffer
}

type Json = Record<string, unknown>

/** A complete stream of a dialect in parts, for variation. */
interface Parts {
  begin: Json[]
  deltas: Json[]
  finish: Json[]
  /** An event with this usage. */
  usage(figures: { prompt: unknown; completion: unknown }): Json[]
  error: Json
  /** The final event that is not JSON; '' for dialects without one. */
  end: string
}

const choice = (delta: Json, finish: string | null = null): Json => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const openai: Parts = {
  begin: [choice({ role: 'assistant', content: '' })],
  deltas: [choice({ content: '答案' }), choice({ content: ' is 🎉' })],
  finish: [choice({}, 'stop')],
  usage: ({ prompt, completion }) => [
    { id: 'c', choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } },
  ],
  error: { error: { message: 'it broke', type: 'server_error', code: 'x' } },
  end: '[DONE]',
}

const block = (type: string, members: Json): Json => ({ type, index: 0, ...members })
const anthropic: Parts = {
  begin: [
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [] } },
    block('content_block_start', { content_block: { type: 'text', text: '' } }),
  ],
  deltas: [
    block('content_block_delta', { delta: { type: 'text_delta', text: '答案' } }),
    block('content_block_delta', { delta: { type: 'text_delta', text: ' is 🎉' } }),
  ],
  finish: [
    block('content_block_stop', {}),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  ],
  usage: ({ prompt, completion }) => [
    {
      type: 'message_delta',
      delta: {},
      usage: { input_tokens: prompt, output_tokens: completion },
    },
    { type: 'message_stop' },
  ],
  error: { type: 'error', error: { type: 'overloaded_error', message: 'it broke' } },
  end: '',
}

const candidate = (text: string, finishReason?: string): Json => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason }],
})
const gemini: Parts = {
  begin: [candidate('')],
  deltas: [candidate('答案'), candidate(' is 🎉')],
  finish: [],
  usage: ({ prompt, completion }) => [
    {
      ...candidate('.', 'STOP'),
      usageMetadata: { promptTokenCount: prompt, candidatesTokenCount: completion },
    },
  ],
  error: { error: { code: 503, message: 'it broke', status: 'UNAVAILABLE' } },
  end: '',
}

const DIALECTS: Readonly<Record<DialectName, Parts>> = { openai, anthropic, gemini }

const event = (value: Json | string, end = '\n\n'): string => {
  if (typeof value === 'string') return value === '' ? '' : `data: ${value}${end}`
  const name =
    typeof value.type === 'string' ? `event: ${value.type}${end.slice(0, end.length / 2)}` : ''
  return `${name}data: ${JSON.stringify(value)}${end}`
}

const said = (values: readonly (Json | string)[]): string =>
  values.map((value) => event(value)).join('')

/** Usage values that must be rejected, or only just accepted. */
const FIGURES: readonly (readonly [unknown, unknown])[] = [
  [-1, 3],
  [1.5, 2],
  ['3', '4'],
  [1e308, 1],
  ['NaN', 'NaN'],
  [null, 3],
  [0, 5],
  [5, 2 ** 53],
  [{}, []],
]

/** The corpus of one dialect. */
export function streamCases(name: DialectName): StreamCase[] {
  const parts = DIALECTS[name]
  const { begin, deltas, finish, error, end } = parts
  const usage = parts.usage({ prompt: 11, completion: 7 })
  const good = [...begin, ...deltas, ...finish, ...usage, end]
  const text = said(good)
  const texts: Record<string, string> = {
    whole: text,
    empty: '',
    'comments only': ': a\n\n: b\n\n',
    'the end only': said([end === '' ? (usage.at(-1) ?? '') : end]),
    'no space behind the colon': text.replaceAll('data: ', 'data:'),
    'data over several lines': text.replaceAll('{"', '{\ndata: "'),
    'CR only': text.replaceAll('\n', '\r'),
    CRLF: text.replaceAll('\n', '\r\n'),
    'mixed line ends': good
      .map((value, index) => event(value, ['\n\n', '\r\n\r\n', '\r\r', '\r\n\n'][index % 4]))
      .join(''),
    'a byte order mark': `\ufeff${text}`,
    'no last newline': text.slice(0, -2),
    'an unknown name': `event: surprise\n${text}`,
    'a long line': said([...begin, ...deltas]) + `: ${'x'.repeat(65_536)}\n\n` + said(finish),
    'many tiny events': ':\n\n'.repeat(2000) + text,
    'NUL bytes': `data: \0\n\n${text}`,
    'half a chunk': said([...begin, ...deltas]) + 'data: {"a\n\n',
    'JSON and then more': `${said(begin)}data: {} x\n\n`,
    null: `${said(begin)}data: null\n\n`,
    list: `${said(begin)}data: []\n\n`,
    number: `${said(begin)}data: 1\n\n`,
    'an id with NUL': `id: a\0b\n${text}`,
    'a great retry': `retry: 999999999999\n${text}`,
    'an error at once': said([error]),
    'an error in the middle': said([...begin, ...deltas, error]),
    'an error and then more': said([...begin, error, ...deltas, ...finish, ...usage, end]),
    'no finish': said([...begin, ...deltas, end]),
    'two finishes': said([...begin, ...deltas, ...finish, ...finish, ...usage, end]),
    'more behind the end': text + said(deltas),
    'two ends': text + said([end]),
    'usage twice': said([...begin, ...deltas, ...usage, ...finish, ...usage, end]),
    'usage first': said([...begin, ...usage.slice(0, 1), ...deltas, ...finish, ...usage, end]),
    'no usage': said([...begin, ...deltas, ...finish, end]),
  }
  const cases = Object.entries(texts).map(([title, body]) => ({
    name: title,
    bytes: Buffer.from(body),
  }))
  return [
    ...cases,
    { name: 'invalid UTF-8', bytes: Buffer.from(text.replaceAll('答', '\u00ff'), 'latin1') },
    { name: 'packed', bytes: gzipSync(Buffer.from(text)) },
    ...FIGURES.map(([prompt, completion]) => ({
      name: `usage ${JSON.stringify([prompt, completion])}`,
      bytes: Buffer.from(
        said([...begin, ...deltas, ...finish, ...parts.usage({ prompt, completion }), end]),
      ),
    })),
  ]
}
