import { describe, expect, test } from 'vitest'
import { dialects } from '../../conversion/dialects.ts'
import { responsesClient } from '../openai-responses/client.ts'
import type { ChatRequest } from './chat-request.ts'

describe('of the tools only these may be called', () => {
  const names = ['f', 'g', 'h']
  const some = names.slice(1)
  const messages = [{ role: 'user', content: 'x' }]
  const inChat = (name: string) => ({ type: 'function', function: { name } })
  const inResponse = (name: string) => ({ type: 'function', name })
  const allowed = { type: 'allowed_tools', mode: 'required' }
  const responses = responsesClient({})

  test.each<[string, () => ChatRequest]>([
    [
      'Gemini',
      () =>
        dialects.gemini.readRequest({
          contents: [{ parts: [{ text: 'x' }] }],
          tools: [{ functionDeclarations: names.map((name) => ({ name })) }],
          toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: some } },
        }),
    ],
    [
      'OpenAI',
      () =>
        dialects.openai.readRequest({
          messages,
          tools: names.map(inChat),
          tool_choice: {
            type: 'allowed_tools',
            allowed_tools: { mode: 'required', tools: some.map(inChat) },
          },
        }),
    ],
    [
      'Responses',
      () =>
        responses.readRequest({
          input: 'x',
          tools: names.map(inResponse),
          tool_choice: { ...allowed, tools: some.map(inResponse) },
        }),
    ],
  ])('%s', (_client, read) => {
    const to = { model: 'm', isStream: false, asksForUsage: false }
    expect(dialects.anthropic.writeRequest(read(), to)).toMatchObject({
      tools: some.map((name) => ({ name })),
      tool_choice: { type: 'any' },
    })
    expect(dialects.openai.writeRequest(read(), to)).toMatchObject({
      tools: some.map(inChat),
      tool_choice: 'required',
    })
    expect(dialects.gemini.writeRequest(read(), to)).toMatchObject({
      tools: [{ functionDeclarations: some.map((name) => ({ name })) }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    })
  })

  test('that are not declared: refused by the place of their names', () => {
    const tool_choice = { ...allowed, allowed_tools: { mode: 'auto', tools: [inChat('i')] } }
    const read = () =>
      dialects.openai.readRequest({ messages, tools: names.map(inChat), tool_choice })
    expect(read).toThrow(/tool_choice\.allowed_tools\.tools/)
  })
})
