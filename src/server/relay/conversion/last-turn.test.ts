import { describe, expect, test } from 'vitest'
import { convert } from '../../test/converted-request.ts'
import {
  aModel,
  aRoute,
  post,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'
import { readResponsesRequest } from '../protocols/openai-responses/read-request.ts'
import { upstreamDialects } from '../../test/upstream-dialects.ts'
import { dialects } from './dialects.ts'

/** Ends of conversations other than a question of the user. */

const say = (role: string, content: unknown) => ({ role, content })
const TALK = [say('user', 'hi'), say('assistant', 'Hello there')]
const SUMMARY = 'Summarize the discussion'
const HISTORY = 'What was said before'

/** As NextChat requests a summary of a conversation. */
const SUMMING = [say('system', HISTORY), ...TALK, say('system', SUMMARY)]

const blocks = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }))
const parts = (...texts: string[]) => texts.map((text) => ({ text }))
const claude = (messages: object[], model = 'claude-opus-4-7') =>
  convert('openai', 'anthropic', { messages }, { model })
const gemini = (messages: object[], model = 'gemini-3.6-flash') =>
  convert('openai', 'gemini', { messages }, { model })

describe('instructions after the assistant’s last text become the question', () => {
  test('for Claude, also for models with prefill', () => {
    for (const model of ['claude-opus-4-7', 'claude-sonnet-4-5']) {
      expect(claude(SUMMING, model)).toMatchObject({
        system: blocks(HISTORY),
        messages: [
          say('user', blocks('hi')),
          say('assistant', blocks('Hello there')),
          say('user', blocks(SUMMARY)),
        ],
      })
    }
  })

  test('for Gemini, joined to one turn', () => {
    const written = gemini([...SUMMING, say('developer', 'In Chinese')], 'gemini-2.0-flash')
    expect(written).toMatchObject({
      systemInstruction: { parts: parts(HISTORY) },
      contents: [
        { role: 'user', parts: parts('hi') },
        { role: 'model', parts: parts('Hello there') },
        { role: 'user', parts: parts(SUMMARY, 'In Chinese') },
      ],
    })
  })

  test('for clients of Anthropic and of the Responses API', () => {
    const body = { model: 'm', max_tokens: 9, messages: [...TALK, say('system', SUMMARY)] }
    const asked = [...TALK, say('user', SUMMARY)]
    expect(convert('anthropic', 'openai', body).messages).toEqual(asked)
    const input = [...TALK, say('developer', SUMMARY)]
    const request = readResponsesRequest({ instructions: HISTORY, input })
    const to = { model: 'm', isStream: false, asksForUsage: false }
    expect(dialects.openai.writeRequest(request, to).messages).toEqual([
      say('system', HISTORY),
      ...asked,
    ])
  })

  test('but stay instructions if a user message follows, or there is no message', () => {
    const spoken = [...TALK, say('system', 'Be brief'), say('user', 'And?')]
    const later = [...TALK, say('user', 'And?'), say('system', 'Be brief')]
    for (const messages of [spoken, later]) {
      const written = claude(messages)
      expect(written.system).toEqual(blocks('Be brief'))
      expect(written.messages).toHaveLength(3)
    }
    expect(claude([say('system', 'Be brief'), ...TALK]).system).toEqual(blocks('Be brief'))
  })
})

describe('the assistant’s text at the end', () => {
  test.each([
    'claude-2.1',
    'claude-3-5-sonnet-v2@20241022',
    'claude-3.7-sonnet',
    'claude-opus-4-20250514',
    'claude-sonnet-4@20250514',
    'us.anthropic.claude-opus-4-1-20250805-v1:0',
    'claude-haiku-4-5',
    'claude-opus-4.5',
  ])('are gone on with by %s', (model) => {
    const { messages } = claude(TALK, model)
    expect(messages).toMatchObject([{ role: 'user' }, { role: 'assistant' }])
  })

  test.each([
    'claude-opus-4-6',
    'claude-sonnet-4.6',
    'claude-opus-4-8-20260701',
    'claude-opus-5',
    'claude-haiku-5-5',
    'claude-mythos-preview',
    'some-alias',
  ])('are followed by a word of the user’s for %s', (model) => {
    const { messages } = claude(TALK, model)
    expect(messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      say('user', blocks('Continue.')),
    ])
  })

  test.each([
    ['gemini-2.0-flash', 2],
    ['gemini-2.5-pro', 2],
    ['gemini-3-flash-preview', 2],
    ['gemini-3.1-pro-preview', 2],
    ['gemini-3.5-flash-lite', 3],
    ['gemini-3.6-flash', 3],
    ['gemini-3.8-flash', 3],
  ])('and for %s in %i turns', (model, turns) => {
    const { contents } = gemini(TALK, model)
    expect(contents).toHaveLength(turns)
    if (turns === 3) {
      expect(contents).toMatchObject([{}, {}, { role: 'user', parts: parts('Continue.') }])
    }
  })

  test.each([
    ['amazon.nova-lite-v1:0', 2],
    ['us.amazon.nova-2-lite-v1:0', 3],
    ['meta.llama3-8b-instruct-v1:0', 3],
  ])('and at Bedrock for %s in %i turns', (model, turns) => {
    const request = dialects.openai.readRequest({ messages: TALK })
    const to = { model, isStream: false, asksForUsage: false }
    expect(upstreamDialects.converse.writeRequest(request, to).messages).toHaveLength(turns)
  })

  test('loses its trailing whitespace for Claude, which rejects it', () => {
    const talk = [say('user', 'hi'), say('assistant', 'Well, \nand so \n')]
    const cut = [...talk, say('assistant', blocks(' one ', ' two\t\n'))]
    expect(claude(talk, 'claude-haiku-4-5').messages).toMatchObject([
      say('user', blocks('hi')),
      say('assistant', blocks('Well, \nand so')),
    ])
    expect(claude(cut, 'claude-haiku-4-5').messages).toMatchObject([
      say('user', blocks('hi')),
      say('assistant', blocks('Well, \nand so \n', ' one ', ' two')),
    ])
    const asked = claude([...cut, say('user', 'go on ')], 'claude-haiku-4-5')
    expect(asked.messages).toMatchObject([
      {},
      say('assistant', blocks('Well, \nand so \n', ' one ', ' two\t\n')),
      say('user', blocks('go on ')),
    ])
  })

  test('needs no following turn if it calls a tool', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
    const messages = [TALK[0] ?? {}, { role: 'assistant', content: null, tool_calls: [call] }]
    expect(claude(messages).messages).toHaveLength(2)
    expect(gemini(messages).contents).toHaveLength(2)
  })
})

describe('an empty user turn', () => {
  test.each([[''], [null], [[]], [' ']])('as the user, by %j, still asks of Gemini', (nothing) => {
    const silent = { role: 'user', parts: parts('.') }
    expect(gemini([say('user', nothing)]).contents).toEqual([silent])
    expect(gemini([...TALK, say('user', nothing)]).contents).toEqual([
      { role: 'user', parts: parts('hi') },
      { role: 'model', parts: parts('Hello there') },
      silent,
    ])
  })

  test('and an empty assistant turn: the user turns around it are joined', () => {
    const messages = [say('user', 'One'), say('assistant', ''), say('user', 'Two')]
    expect(gemini(messages).contents).toEqual([{ role: 'user', parts: parts('One', 'Two') }])
    expect(claude(messages).messages).toEqual([say('user', blocks('One', 'Two'))])
  })
})

describe('gets a response', () => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { sharesClient: true })

  test.each([
    [14, 'claude-opus-4-7'],
    [24, 'gemini-3.6-flash'],
  ])('by type %i, %s, which refuses to go on', async (type, name) => {
    const model = `${name}-${aModel()}`
    await aRoute(setup, model, { type })
    for (const messages of [SUMMING, TALK, [...TALK, say('user', '')]]) {
      const whole = await post(setup, client, { model, messages })
      expect(whole.status).toBe(200)
      const streamed = await stream(setup, client, { model, messages })
      expect(textOf(streamed.text())).not.toBe('')
    }
  })

  test('unchanged if client and channel use one dialect', async () => {
    const model = `claude-opus-4-7-${aModel()}`
    await aRoute(setup, model, { type: 14 })
    const body = { model, max_tokens: 9, messages: TALK }
    const refused = await post(setup, client, body, { path: '/v1/messages' })
    expect(refused.status).toBe(400)
    expect(setup.upstream.seen().at(-1)?.body).toMatchObject({ messages: TALK })
  })
})
