import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  chatBody,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelaySetup } from '../../../test/use-relay.ts'
import { CompletionCounter } from '../../count/count-tokens.ts'
import { loadTokenizer } from '../../count/tokenizer.ts'
import { readGeminiUsage } from '../../protocols/gemini/usage.ts'
import { readUsage } from '../../protocols/openai-chat/usage.ts'
import { measureTold } from './measure.ts'

const TOKENS_MAX = 1_000_000

const tokenizer = await loadTokenizer('o200k_base')

describe('reported usage of a text', () => {
  const measured = async (sent: object, text: string, isText = true, isBegun = false) => {
    const read = readUsage(sent, TOKENS_MAX)
    if (read.usage === null) throw new Error(`refused: ${read.fault}`)
    const reading = isBegun ? { ...read, notes: ['completion-begun' as const] } : read
    const completion = new CompletionCounter(async (words) => tokenizer.count(words))
    completion.add({ lane: 0, text })
    const attempt = { countPrompt: () => 77, isText }
    const result = await measureTold(reading, { attempt, completion: () => completion })
    return { ...result, told: reading.usage }
  }
  const words = fc.nat({ max: 200 })
  const figure = fc.integer({ min: 1, max: 500 })

  test('is accepted with a completion, for any text', async () => {
    await fc.assert(
      fc.asyncProperty(figure, figure, words, async (prompt_tokens, completion_tokens, length) => {
        const sent = { prompt_tokens, completion_tokens }
        const { used, told, source } = await measured(sent, 'word '.repeat(length))
        expect({ used, source }).toEqual({ used: told, source: 'upstream' })
      }),
    )
  })

  test('is not accepted without a completion for more than a few words: the prompt stays', async () => {
    const cached = fc.nat({ max: 1 })
    await fc.assert(
      fc.asyncProperty(figure, cached, words, async (prompt_tokens, cached_tokens, length) => {
        const text = 'word '.repeat(length)
        const sent = { prompt_tokens, completion_tokens: 0, cached_tokens }
        const { used, told, source } = await measured(sent, text)
        const counted = tokenizer.count(text)
        expect({ used, source }).toEqual(
          counted > 16
            ? { used: { ...told, completionTokens: counted }, source: 'counted' }
            : { used: told, source: 'upstream' },
        )
      }),
    )
  })

  test('is believed where nothing is written for the call', async () => {
    const sent = { prompt_tokens: 100, completion_tokens: 0 }
    const { used, told } = await measured(sent, 'word '.repeat(99), false)
    expect(used).toBe(told)
  })

  test.each([
    [100, 9, { promptTokens: 100, completionTokens: 10 }],
    [100, 0, { promptTokens: 100, completionTokens: 1 }],
    [0, 9, { promptTokens: 77, completionTokens: 10 }],
  ])('that only began with %i and 1, and wrote %i words', async (prompt_tokens, count, used) => {
    const sent = { prompt_tokens, completion_tokens: 1 }
    expect((await measured(sent, 'word '.repeat(count), true, true)).used).toMatchObject(used)
  })

  test('a total alone does not contain the prompt of a call with a reply', async () => {
    const { used } = await measured({ total_tokens: 120 }, 'word '.repeat(50))
    expect(used).toMatchObject({ promptTokens: 77, completionTokens: 51 })
  })

  test('what Gemini leaves to the total is completion', () => {
    const sent = { promptTokenCount: 100, thoughtsTokenCount: 5, totalTokenCount: 125 }
    expect(readGeminiUsage(sent, TOKENS_MAX).usage).toMatchObject({ completionTokens: 25 })
    const blocked = { promptTokenCount: 100, totalTokenCount: 100 }
    expect(readGeminiUsage(blocked, TOKENS_MAX).usage).toMatchObject({ completionTokens: 0 })
  })
})

describe('a response without reported completion', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started))

  const TEXT = 'word '.repeat(100).trim()
  const delta = (text: string) => ({ type: 'content_block_delta', delta: { text } })
  const anthropic = (text: string, last: object) => [
    {
      type: 'message_start',
      message: {
        usage: {
          input_tokens: 100,
          output_tokens: 1,
          cache_read_input_tokens: 40,
          cache_creation_input_tokens: 30,
          cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
        },
      },
    },
    ...(text === '' ? [] : [delta(text)]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...last },
    { type: 'message_stop' },
  ]
  const zeros = {
    input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: 20,
  }
  const gemini = (text: string, usageMetadata: object) => [
    { candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }], usageMetadata },
  ]
  const openai = (message: object, usage: object) => [
    { choices: [{ index: 0, delta: message, finish_reason: 'stop' }] },
    { choices: [], usage },
  ]
  const none = { prompt_tokens: 100, completion_tokens: 0, total_tokens: 100 }
  const promptOnly = { promptTokenCount: 100, totalTokenCount: 100, cachedContentTokenCount: 40 }
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  const begun = { prompt_tokens: 170, cached_tokens: 40, completion_tokens: 1 }

  test.each<[string, number, object[], object]>([
    [
      'Anthropic’s, of which only the beginning told',
      14,
      anthropic(TEXT, {}),
      { ...begun, completion_tokens: 100, usage_source: 'counted' },
    ],
    ['Anthropic’s without a text', 14, anthropic('', {}), { ...begun, usage_source: 'upstream' }],
    [
      'Anthropic’s whose end repeats the prompt as zeros',
      14,
      anthropic(TEXT, { usage: zeros }),
      { ...begun, completion_tokens: 20, usage_source: 'upstream' },
    ],
    [
      'Gemini’s',
      24,
      gemini(TEXT, promptOnly),
      { prompt_tokens: 100, cached_tokens: 40, completion_tokens: 100, usage_source: 'counted' },
    ],
    [
      'OpenAI’s',
      1,
      openai({ content: TEXT }, none),
      { prompt_tokens: 100, completion_tokens: 100, usage_source: 'counted' },
    ],
    [
      'OpenAI’s that only calls a tool',
      1,
      openai({ tool_calls: [call] }, none),
      { prompt_tokens: 100, completion_tokens: 0, usage_source: 'upstream' },
    ],
    [
      'OpenAI’s that refuses',
      1,
      openai({ refusal: 'I cannot help with that.' }, none),
      { prompt_tokens: 100, completion_tokens: 0, usage_source: 'upstream' },
    ],
  ])('%s', async (_what, type, events, expected) => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
      response.end(lines.join('') + (type === 1 ? 'data: [DONE]\n\n' : ''))
    })
    const model = aModel()
    await aRoute(setup, model, { type, base_url: upstream.url })
    const answer = await stream(setup, await aClient(setup), chatBody(model))
    expect(answer.end).toBe('complete')
    expect((await bookedCall(setup, requestIdOf(answer))).detail).toMatchObject(expected)
    await upstream.close()
  })

  test.each([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, 100],
    ['/v1/completions', { prompt: 'hi' }, 100],
    // As those ask who want to know how likely a text is.
    ['/v1/completions', { prompt: TEXT, echo: true, logprobs: 1 }, 0],
  ])('in one piece: %s %j', async (path, body, completion) => {
    const upstream = await startScriptedUpstream((_request, response: ServerResponse) => {
      response.setHeader('content-type', 'application/json')
      const said = path.endsWith('/chat/completions')
        ? { message: { role: 'assistant', content: TEXT } }
        : { text: TEXT }
      response.end(JSON.stringify({ choices: [{ ...said, finish_reason: 'stop' }], usage: none }))
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const answer = await post(setup, await aClient(setup), { model, ...body }, { path })
    expect((await bookedCall(setup, requestIdOf(answer))).detail).toMatchObject({
      prompt_tokens: 100,
      completion_tokens: completion,
    })
    await upstream.close()
  })
})
