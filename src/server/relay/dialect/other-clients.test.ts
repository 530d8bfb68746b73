import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { Ollama, type Tool } from 'ollama'
import { beforeEach, describe, expect, test } from 'vitest'
import { Role } from '../../../contract/user.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Clients that build on a provider's own, or speak to servers of their own. */

const ANSWER = 'The answer is forty-two.'
const WEATHER = {
  name: 'weather',
  description: 'the weather of a place',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

const ways: [label: string, type: number, useResponsesApi: boolean][] = [
  ['chat with a channel of OpenAI', 1, false],
  ['chat with a channel of Anthropic', 14, false],
  ['Responses with a channel of Anthropic', 14, true],
  ['Responses with a channel of Gemini', 24, true],
]

describe.each(ways)('@langchain/openai, %s', (_label, type, useResponsesApi) => {
  async function aChat(words = '') {
    const model = aModel()
    await aRoute(setup, model, { type, words })
    const configuration = { baseURL: `${setup.url}/v1` }
    return new ChatOpenAI({
      model,
      apiKey: `sk-${client.key}`,
      configuration,
      useResponsesApi,
      maxRetries: 0,
      ...(useResponsesApi && { modelKwargs: { store: false } }),
    })
  }

  test('chats', async () => {
    const answer = await (await aChat()).invoke('What is the answer?')
    expect(answer.text).toBe(ANSWER)
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 7 })
  })

  test('streams', async () => {
    const chat = await aChat()
    let text = ''
    for await (const chunk of await chat.stream('What is the answer?')) text += chunk.text
    expect(text).toBe(ANSWER)
  })

  test('calls tools and hands their results back', async () => {
    const tools = [{ type: 'function' as const, function: WEATHER }]
    const chat = (await aChat()).bindTools(tools, { tool_choice: 'any' })
    const question = new HumanMessage('Use weather.')
    const called = await chat.invoke([question])
    expect(called.tool_calls).toMatchObject([{ name: 'weather', args: { city: 'forty-two' } }])
    const [call] = called.tool_calls ?? []
    const free = (await aChat()).bindTools(tools)
    const after = await free.invoke([
      question,
      new AIMessage({ content: '', tool_calls: called.tool_calls ?? [] }),
      new ToolMessage({ content: 'sunny', tool_call_id: call?.id ?? '' }),
    ])
    expect(after.text).toBe(ANSWER)
  })

  test('hears of errors, before and in the middle', async () => {
    const refused = (await aChat('fail-429')).invoke('hi')
    await expect(refused).rejects.toMatchObject({ status: 429 })
    const breaking = await (await aChat('chunks-8+error-mid-stream')).stream('hi')
    const read = async (): Promise<void> => {
      for await (const chunk of breaking) expect(chunk.text).toBeTypeOf('string')
    }
    await expect(read()).rejects.toThrow(/./)
  })
})

/**
 * Ollama's client wants Ollama's own paths, which nobody serves here but a raw proxy channel. It
 * proves that channel, and that the upstream of the tests answers as Ollama does.
 */
describe('ollama, by a proxy channel', () => {
  let ollama: Ollama
  let calls: string[]
  beforeEach(async () => {
    const admin = await aClient(setup, { role: Role.admin })
    const id = await aRoute(setup, aModel(), { type: 43, key: 'Bearer upstream' })
    calls = []
    ollama = new Ollama({
      host: `${setup.url}/v1/oneapi/proxy/${id}`,
      headers: { authorization: `Bearer sk-${admin.key}` },
      async fetch(input, init) {
        const answer = await fetch(input, init)
        calls.push(answer.headers.get('x-oneapi-request-id') ?? '')
        return answer
      },
    })
  })
  const messages = [{ role: 'user', content: 'What is the answer?' }]

  test('chats, and the call has its price', async () => {
    await setup.app.options.set('ProxyCallQuota', '9')
    const answer = await ollama.chat({ model: 'llama3.2', messages })
    expect(answer).toMatchObject({
      message: { role: 'assistant', content: ANSWER },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 11,
      eval_count: 7,
    })
    expect((await bookedCall(setup, calls[0] ?? '')).quota).toBe(9)
  })

  test('streams', async () => {
    let text = ''
    let isDone = false
    for await (const part of await ollama.chat({ model: 'llama3.2', messages, stream: true })) {
      text += part.message.content
      isDone = part.done
    }
    expect([text, isDone]).toEqual([ANSWER, true])
  })

  test('calls tools and hands their results back', async () => {
    const tools: Tool[] = [{ type: 'function', function: WEATHER }]
    const asked = [{ role: 'user', content: 'Use weather.' }]
    const { message } = await ollama.chat({ model: 'llama3.2', messages: asked, tools })
    expect(message.tool_calls).toMatchObject([
      { function: { name: 'weather', arguments: { city: 'forty-two' } } },
    ])
    const after = await ollama.chat({
      model: 'llama3.2',
      messages: [...asked, message, { role: 'tool', tool_name: 'weather', content: 'sunny' }],
      tools,
    })
    expect(after.message.content).toBe(ANSWER)
  })

  test('embeds', async () => {
    const { embeddings } = await ollama.embed({ model: 'nomic-embed', input: ['a', 'b'] })
    expect(embeddings).toEqual([
      [0.5, -0.25, 0],
      [0.5, -0.25, 1],
    ])
  })
})
