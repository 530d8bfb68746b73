import { expect, test } from 'vitest'
import { streamIn } from '../../test/read-answer.ts'
import { FollowedStream } from '../protocols/dialect/followed-stream.ts'
import { eventOf } from '../transport/wire.ts'
import { scanBody } from '../json/body-scan.ts'
import { responseFigures } from './responses.ts'

// Names that JavaScript itself looks up on objects must not be looked up in JSON.
const ODD = { toString: 1, valueOf: 1 }

function meteringOf(members: object) {
  const body = scanBody(Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', ...members })))
  const figures = body.ok ? responseFigures(body) : null
  const metering = figures !== null && 'searched' in figures ? figures.searched?.('m', 'm') : null
  if (metering === null || metering === undefined) throw new Error('no figures')
  return metering
}

test('a tool with an invalid type costs nothing', () => {
  const tools = [{ type: ODD }, { type: 'web_search' }]
  expect(meteringOf({ tools }).extras).toEqual({ tools: { web_search: 1 } })
})

test('an event with an invalid type is part of the response', () => {
  const stream = new FollowedStream(meteringOf({}).reading.readStream(), false)
  const { kind } = stream.read(eventOf(Buffer.from(JSON.stringify({ type: ODD }))))
  expect(kind).toBe('delta')
})

test('reads a response with unknown tools', () => {
  const tools = [{ type: ODD }]
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
  const output = [{ type: 'web_search_call', status: 'completed' }]
  const answer = Buffer.from(JSON.stringify({ object: 'response', tools, output, usage }))
  expect(meteringOf({}).reading.readAnswer(answer)).toMatchObject({
    usage: { usage: { promptTokens: 3, extras: { tools: { web_search: 1 } } } },
  })
})

test('opening a page and finding text in it are not searches', () => {
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
  const acts = ['search', 'open_page', 'find_in_page']
  const output = acts.map((type) => ({ type: 'web_search_call', action: { type } }))
  const answer = Buffer.from(JSON.stringify({ object: 'response', output, usage }))
  expect(meteringOf({}).reading.readAnswer(answer)).toMatchObject({
    usage: { usage: { extras: { tools: { web_search: 1 } } } },
  })
})

test('charges the tool usage that xAI reports, not its items', () => {
  const details = {
    web_search_calls: 3,
    x_search_calls: 1,
    x_posts_fetched: 12,
    x_users_fetched: 0,
    code_interpreter_calls: 0,
    file_search_calls: -1,
    document_search_calls: 2,
  }
  const usage = { input_tokens: 3, output_tokens: 2, server_side_tool_usage_details: details }
  const output = [
    { type: 'web_search_call', action: { type: 'search' } },
    { type: 'web_search_call', action: { type: 'open_page' } },
    { type: 'custom_tool_call', name: 'x_keyword_search' },
    { type: 'code_interpreter_call' },
    { type: 'file_search_call' },
  ]
  const answer = Buffer.from(JSON.stringify({ object: 'response', output, usage }))
  const read = meteringOf({ tools: [{ type: 'x_search' }] })
  expect(read.extras).toEqual({ tools: { x_posts: 1 } })
  const { usage: told } = { usage: null, ...read.reading.readAnswer(answer) }
  expect(told?.usage?.extras?.tools).toEqual({
    web_search: 3,
    x_posts: 12,
    attachment_search: 2,
    file_search: 1,
  })
})

test('reserves a container once, and an unknown size as the most expensive', () => {
  const container = { type: 'auto', memory_limit: '128g' }
  const tools = [
    { type: 'code_interpreter', container },
    { type: 'shell', environment: { type: 'container_auto' } },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'web_search' },
  ]
  expect(meteringOf({ tools, max_tool_calls: 3 }).extras).toEqual({
    tools: { code_interpreter_64g: 1, code_interpreter: 1, web_search: 3 },
  })
})

test('charges a container of a broken stream by its size', () => {
  const tools = [{ type: 'shell', environment: { type: 'container_auto', memory_limit: '16g' } }]
  const environment = { type: 'container_reference', container_id: 'cntr_1' }
  const item = { type: 'shell_call', environment }
  const { stream } = streamIn(meteringOf({ tools }).reading, [
    { type: 'response.output_item.done', item },
  ])
  expect(stream.extras).toEqual({ tools: { code_interpreter_16g: 1 } })
})
