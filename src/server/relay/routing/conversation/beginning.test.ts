import { describe, expect, test } from 'vitest'
import { scanBody } from '../../json/body-scan.ts'
import { beginningOf } from './affinity.ts'

type Dialect = Parameters<typeof beginningOf>[0]

function beginning(members: object, dialect: Dialect = 'openai'): string | null {
  const body = scanBody(Buffer.from(JSON.stringify(members)))
  if (!body.ok) throw new Error(body.reason)
  return beginningOf(dialect, body)
}

const system = { role: 'system', content: 'You are kind.' }
const user = { role: 'user', content: 'Which "way"?' }
const assistant = { role: 'assistant', content: 'This one.' }
const more = { role: 'user', content: 'And then?' }
const MARK = { cache_control: { type: 'ephemeral' } }
const part = (text: string, over = {}) => [{ type: 'text', text, ...over }]

interface Told {
  dialect: Dialect
  /** Bodies of successive turns of one conversation. */
  turns: object[]
  /** One body of each of several other conversations. */
  others: object[]
}

/** Some clients write the text of a message before its role. */
const textFirst = (messages: { role: string; content: string }[]) => ({
  messages: messages.map(({ role, content }) => ({ content, role })),
})
const pictured = (content: object[]) => ({ role: 'user', content })
const image = (image_url: string) => ({ type: 'image_url', image_url })
const contents = (first: string, over = {}) => ({
  contents: [{ role: 'user', parts: [{ text: first }] }, { role: 'model' }],
  systemInstruction: { parts: [{ text: 'Be kind.' }] },
  ...over,
})

const CONVERSATIONS: Record<string, Told> = {
  chat: {
    dialect: 'openai',
    turns: [
      { messages: [system, user, assistant, more], tools: [{ type: 'function' }] },
      { messages: [system, user, assistant, more, assistant, more], temperature: 1 },
    ],
    others: [
      { messages: [system, { ...user, content: 'Why?' }, assistant, more] },
      { messages: [{ ...system, content: 'You are not.' }, user, assistant, more] },
    ],
  },
  'chat whose texts come before the roles': {
    dialect: 'openai',
    turns: [textFirst([user, assistant, more]), textFirst([user, assistant, more, assistant])],
    others: [textFirst([more, assistant, user])],
  },
  'chat with a picture before its text': {
    dialect: 'openai',
    turns: [
      { messages: [pictured([image('a'), ...part('What?')]), assistant] },
      { messages: [pictured([image('a'), ...part('What?')]), assistant, more] },
    ],
    others: [{ messages: [pictured([image('a'), ...part('Who?')]), assistant] }],
  },
  'chat of a picture alone': {
    dialect: 'openai',
    turns: [
      { messages: [pictured([image('a')]), assistant] },
      { messages: [pictured([image('a')]), assistant, more] },
    ],
    others: [{ messages: [pictured([image('b')]), assistant] }],
  },
  responses: {
    dialect: 'openai',
    turns: [
      { instructions: 'Be kind.', input: [user, { type: 'function_call', name: 'f' }] },
      { instructions: 'Be kind.', input: [user, { type: 'reasoning' }, assistant, more] },
    ],
    others: [
      { instructions: 'Be brief.', input: [user, assistant] },
      { instructions: 'Be kind.', input: [more, assistant] },
    ],
  },
  'messages whose marks move on': {
    dialect: 'anthropic',
    turns: [
      { system: part('Be kind.', MARK), messages: [pictured(part('Hi', MARK))] },
      {
        system: 'Be kind.',
        messages: [{ role: 'user', content: 'Hi' }, assistant, pictured(part('So?', MARK))],
      },
    ],
    others: [
      { system: part('Be kind.', MARK), messages: [pictured(part('Ho'))] },
      { system: part('Be brief.', MARK), messages: [pictured(part('Hi'))] },
    ],
  },
  contents: {
    dialect: 'gemini',
    turns: [contents('Hi'), { ...contents('Hi'), generationConfig: {} }],
    others: [
      contents('Ho'),
      contents('Hi', { systemInstruction: { parts: [{ text: 'Be brief.' }] } }),
    ],
  },
}

describe('a conversation without an id', () => {
  test.each(Object.entries(CONVERSATIONS))(
    'begins in all its turns with the same, and others do not: %s',
    (_what, { dialect, turns, others }) => {
      const [said, ...later] = turns.map((turn) => beginning(turn, dialect))
      expect(said).toEqual(expect.any(String))
      for (const again of later) expect(again).toBe(said)
      const all = others.map((other) => beginning(other, dialect))
      expect(new Set([said, ...all]).size).toBe(1 + others.length)
      expect(all).not.toContain(null)
    },
  )

  test('is identified by the beginnings of its texts', () => {
    const long = (tail: string) => ({
      messages: [
        { role: 'system', content: `${'s'.repeat(100_000)}${tail}` },
        { role: 'user', content: `${'u'.repeat(100_000)}${tail}` },
        assistant,
      ],
    })
    const said = beginning(long('a'))
    expect(said).toBe(beginning(long('b')))
    expect(said?.length).toBeLessThan(2000)
  })
})

describe('not a conversation', () => {
  test.each<[string, object, Dialect]>([
    ['a single question', { messages: [system, user] }, 'openai'],
    ['several messages of the user alone', { messages: [system, user, more] }, 'openai'],
    ['one that says assistant', { messages: [{ ...user, content: '"assistant"' }] }, 'openai'],
    ['a text', { input: 'x' }, 'openai'],
    ['texts to embed', { input: ['x', 'y', 'z'] }, 'openai'],
    ['a prompt', { prompt: 'x' }, 'openai'],
    ['a single message without a mark', { system: 'x', messages: [user] }, 'anthropic'],
    [
      'one that says cache_control',
      { messages: [{ ...user, content: '"cache_control"' }] },
      'anthropic',
    ],
    ['contents of nobody', { contents: [{ parts: [{ text: 'Hi' }] }] }, 'gemini'],
    ['only the model speaks', { messages: [assistant, assistant] }, 'openai'],
    ['nothing', {}, 'openai'],
    ['no list', { messages: 'x' }, 'openai'],
  ])('is %s', (_what, members, dialect) => {
    expect(beginning(members, dialect)).toBeNull()
  })
})
