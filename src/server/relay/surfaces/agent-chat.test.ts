import { describe, expect, test } from 'vitest'
import { eventsOfAnswer, type Finish } from '../protocols/canonical/chat-answer.ts'
import { surfaceOf } from './surfaces.ts'
import { scanBody } from '../json/body-scan.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../json/json-value.ts'
import { agentClient } from './agent-chat.ts'
import { isEmpty } from './figures.ts'

const PATCH = 'ApplyPatch'
const tools = [
  { type: 'function', name: 'weather', parameters: { type: 'object' } },
  { type: 'custom', name: PATCH },
]
const head = { id: 'chatcmpl-1', model: 'm', nowSeconds: 0, wantsUsage: false }
const usage = {
  promptTokens: 3,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  completionTokens: 2,
  reasoningTokens: 0,
}

/** Handling of such a body at OpenAI's chat endpoint. */
function meant(sent: JsonRecord) {
  const body = scanBody(Buffer.from(JSON.stringify(sent)))
  const asked = surfaceOf('/v1/chat/completions', new URLSearchParams())
  if (!body.ok || asked === null) throw new Error('no call')
  const isOther = isEmpty(body, asked.surface.required)
  const surface = (isOther ? asked.surface.insteadOf?.(body) : null) ?? asked.surface
  return { surface, figures: surface.figures?.({ body, form: null, model: 'm' }) }
}

const request = (sent: JsonRecord) => {
  const body = { model: 'm', input: 'hi', tools, ...sent }
  return agentClient(body).readRequest(body)
}

test.each([
  [{ input: 'hi' }, 'input'],
  [{ input: 'hi', messages: [] }, 'input'],
  [{ input: 'hi', messages: [{ role: 'user', content: 'hi' }] }, 'messages'],
  [{ messages: [{ role: 'user', content: 'hi' }] }, 'messages'],
])('%j is understood by its %s', (sent, required) => {
  expect(meant(sent).surface.required).toBe(required)
})

describe('accepts the output limit by the name of either API', () => {
  test.each([
    [{}, null, null],
    [{ max_tokens: 5 }, 5, 5],
    [{ max_completion_tokens: 6 }, 6, 6],
    [{ max_output_tokens: 7 }, 7, 7],
    // The larger limit is reserved, and the Responses API's own member is sent.
    [{ max_output_tokens: 7, max_completion_tokens: 9, max_tokens: 1 }, 9, 7],
    [{ max_completion_tokens: 6, max_tokens: 1 }, 6, 6],
  ])('%j', (sent, held, asked) => {
    expect(meant({ input: 'hi', ...sent }).figures).toMatchObject({ maxCompletionTokens: held })
    expect(request(sent).maxCompletionTokens).toBe(asked)
  })
})

test('applies members of chat completions, and stores nothing', () => {
  const stream_options = { include_usage: true }
  const { figures } = meant({ input: 'hi', stream: true, stream_options })
  expect(figures).toMatchObject({ isStream: true, wantsUsage: true })
  expect(request({ store: true, stream_options })).toMatchObject({ messages: [{ role: 'user' }] })
})

test.each([
  [{ type: 'custom', name: PATCH }, { kind: 'tool', name: PATCH }, ['weather', PATCH]],
  [
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: PATCH }] },
    { kind: 'required' },
    [PATCH],
  ],
])('a tool is chosen that takes a text as it is: %j', (tool_choice, chosen, names) => {
  const read = request({ tool_choice })
  expect(read.toolChoice).toEqual(chosen)
  expect(read.tools.map(({ name }) => name)).toEqual(names)
})

describe('only custom tools are called with plain text', () => {
  const client = agentClient({ input: 'hi', tools })

  test.each([
    ['weather', '{"city":"x"}', '{"city":"x"}'],
    [PATCH, '{"input":"x"}', 'x'],
    [PATCH, '{"patch":"x"}', 'x'],
  ])('%s with %s', (name, argumentsJson, said) => {
    const part = { kind: 'toolCall', id: 'call_1', name, argumentsJson, signature: null } as const
    const finish: Finish = { reason: 'toolCalls', stopSequence: null }
    const answer = { id: 'upstream-1', choices: [{ parts: [part], finish }], usage }
    const whole = JSON.stringify(client.writeAnswer(answer, head))
    expect(whole).toContain(`"arguments":${JSON.stringify(said)}`)

    const writer = client.streamWriter(head)
    const pieces = eventsOfAnswer(answer).flatMap((event) => writer.write(event))
    expect(pieces.map(({ data }) => argumentsIn(data)).join('')).toBe(said)
  })
})

/** The arguments in a chat chunk. */
function argumentsIn(data: string): string {
  const [choice] = arrayOr(recordOr(JSON.parse(data)).choices)
  const [call] = arrayOr(recordOr(recordOr(choice).delta).tool_calls)
  return textOr(recordOr(recordOr(call).function).arguments)
}
