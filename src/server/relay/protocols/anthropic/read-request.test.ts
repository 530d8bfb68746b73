import { describe, expect, test } from 'vitest'
import { readAnthropicRequest } from './read-request.ts'

const messages = [{ role: 'user', content: 'Hi' }]

test('reasoning between calls only is the minimum', () => {
  const read = readAnthropicRequest({ messages, thinking: { type: 'between_tools' } })
  expect(read.thinking).toEqual({ kind: 'off' })
})

test('rejects an unknown reasoning mode', () => {
  expect(() => readAnthropicRequest({ messages, thinking: { type: 'sideways' } })).toThrow(
    /thinking\.type/,
  )
})

test('puts a document’s title and context before it', () => {
  const source = { type: 'text', media_type: 'text/plain', data: 'Rain.' }
  const content = [{ type: 'document', title: 'Oslo', context: 'A report of 1999.', source }]
  const read = readAnthropicRequest({ messages: [{ role: 'user', content }] })
  expect(read.messages[0]?.parts).toMatchObject([
    { kind: 'text', text: 'Oslo' },
    { kind: 'text', text: 'A report of 1999.' },
    { kind: 'media', source: { from: 'text', text: 'Rain.' } },
  ])
})

test('ignores Anthropic’s option for invalid reasoning', () => {
  for (const block_binding of [{}, { prefix_mismatch_behavior: 'drop_block' }]) {
    const read = readAnthropicRequest({ messages, thinking: { type: 'adaptive', block_binding } })
    expect(read.thinking).toEqual({ kind: 'adaptive' })
  }
})

test('converts a document of texts and images to these', () => {
  const picture = { type: 'base64', media_type: 'image/png', data: 'AA==' }
  const shown = [
    { type: 'text', text: 'Rain.' },
    { type: 'image', source: picture },
  ]
  const content = [
    { type: 'document', title: 'Oslo', source: { type: 'content', content: shown } },
    { type: 'document', source: { type: 'content', content: 'Snow.' } },
  ]
  const read = readAnthropicRequest({ messages: [{ role: 'user', content }] })
  expect(read.messages[0]?.parts).toMatchObject([
    { kind: 'text', text: 'Oslo' },
    { kind: 'text', text: 'Rain.' },
    { kind: 'media', source: { from: 'data', mimeType: 'image/png' } },
    { kind: 'text', text: 'Snow.' },
  ])
})

test('reads results of web and tool searches', () => {
  const found = {
    type: 'search_result',
    title: 'Oslo',
    source: 'https://a.example',
    content: [{ type: 'text', text: 'Rain.' }],
    citations: { enabled: false },
  }
  const content = [found, { type: 'tool_reference', tool_name: 'mcp__x__y' }]
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content }
  const read = readAnthropicRequest({ messages: [{ role: 'user', content: [result] }] })
  expect(read.messages[0]?.parts).toMatchObject([
    {
      parts: [
        { text: 'Oslo\nhttps://a.example\nRain.\n' },
        { text: 'Tool available: mcp__x__y\n' },
      ],
    },
  ])
})

/** Source: what Claude Code was seen to send (vllm-project/vllm#57324), and Anthropic's SDK. */
describe('system messages change', () => {
  const user = { role: 'user', content: 'Hi' }
  const tool = (name: string) => ({ name, input_schema: { type: 'object' } })
  const tools = [tool('Bash'), { ...tool('mcp__x__y'), defer_loading: true }]
  const changed = (type: string, name: string) => ({
    type,
    tool: { type: 'tool_reference', name },
    cache_control: { type: 'ephemeral' },
  })
  const system = (...content: object[]) => ({ role: 'system', content })
  const read = (...said: object[]) => readAnthropicRequest({ messages: said, tools })
  const namesOf = (...said: object[]) => read(...said).tools.map(({ name }) => name)

  test('the tools: added ones are there, removed ones are not', () => {
    const added = system({ type: 'text', text: 'Changed.' }, changed('tool_addition', 'mcp__x__y'))
    expect(namesOf(user, added)).toEqual(['Bash', 'mcp__x__y'])
    expect(read(user, added).system).toMatchObject([{ text: 'Changed.' }])
    const removed = system(changed('tool_removal', 'Bash'))
    expect(namesOf(user, removed)).toEqual(['mcp__x__y'])
    const back = system(changed('tool_addition', 'Bash'))
    expect(namesOf(user, removed, user, back)).toEqual(['Bash', 'mcp__x__y'])
  })

  test('the tools: one may come with its definition', () => {
    const definition = { type: 'tool_definition', definition: tool('late') }
    const added = system({ type: 'tool_addition', tool: definition })
    expect(namesOf(user, added)).toEqual(['Bash', 'mcp__x__y', 'late'])
    const removed = system(changed('tool_removal', 'late'))
    expect(namesOf(user, added, user, removed)).toEqual(['Bash', 'mcp__x__y'])
  })

  test('the effort, until another one changes it', () => {
    const effort = (word: string) => ({ ...system(), output_config: { effort: word } })
    const said = [user, effort('low'), user, effort('max'), user]
    const body = {
      messages: said,
      output_config: { effort: 'high' },
      thinking: { type: 'adaptive' },
    }
    expect(readAnthropicRequest(body).thinking).toEqual({ kind: 'effort', effort: 'max' })
    const odd = [user, effort('huge')]
    expect(() => readAnthropicRequest({ messages: odd })).toThrow(
      /messages\[1\]\.output_config\.effort/,
    )
  })

  test('the instructions, some for one turn only', () => {
    const once = { role: 'system', content: 'Once.', clear_at: 'next_user_message' }
    const always = { role: 'system', content: 'Always.', clear_at: 'never' }
    const textsOf = (...said: object[]) => read(...said).system.map(({ text }) => text)
    expect(textsOf(user, once, always)).toEqual(['Once.', 'Always.'])
    expect(textsOf(user, once, always, user)).toEqual(['Always.'])
  })
})
