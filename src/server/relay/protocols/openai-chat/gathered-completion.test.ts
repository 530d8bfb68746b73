import { expect, test } from 'vitest'
import type { JsonRecord } from '../../json/json-value.ts'
import { GatheredCompletion } from './gathered-completion.ts'

/** Chunks of servers with OpenAI's dialect, joined to one response. */

function gathered(...chunks: JsonRecord[]): JsonRecord {
  const completion = new GatheredCompletion()
  for (const chunk of chunks) completion.add(chunk)
  return completion.whole()
}

const delta = (members: JsonRecord, finish: string | null = null): JsonRecord => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: members, finish_reason: finish }],
})

const messageOf = (...deltas: JsonRecord[]): unknown => {
  const answer = gathered(...deltas.map((members) => delta(members)))
  // As `whole` makes it.
  return (answer.choices as { message: unknown }[])[0]?.message
}

const said = { role: 'assistant', content: null }

test.each<[string, JsonRecord[], object]>([
  ['nothing', [{ role: 'assistant' }], { role: 'assistant', content: '' }],
  ['a refusal', [{ refusal: 'I ' }, { refusal: 'won’t.' }], { ...said, refusal: 'I won’t.' }],
  [
    'a thought by the name it came under',
    [{ reasoning: 'H' }, { reasoning: 'm', content: 'a' }],
    { ...said, content: 'a', reasoning: 'Hm' },
  ],
  [
    'a thought under both names once',
    [{ reasoning: 'Hm', reasoning_content: 'Hm', content: 'a' }],
    { ...said, content: 'a', reasoning_content: 'Hm' },
  ],
  [
    'what it found',
    [{ content: 'a', annotations: [{ n: 1 }] }, { annotations: [{ n: 2 }] }],
    { ...said, content: 'a', annotations: [{ n: 1 }, { n: 2 }] },
  ],
  [
    'a picture, where it came',
    [{ content: 'a', images: [{ type: 'image_url', image_url: { url: 'https://x/y' } }] }],
    {
      ...said,
      content: 'a',
      images: [{ type: 'image_url', image_url: { url: 'https://x/y' } }],
    },
  ],
  [
    'a sealed thought as one detail',
    [
      { content: '', reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'H' }] },
      { reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'm' }] },
      {
        reasoning_details: [{ type: 'reasoning.text', index: 0, text: '', signature: 's' }],
        content: 'a',
      },
      { reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'd' }] },
    ],
    {
      ...said,
      content: 'a',
      reasoning_content: 'Hm',
      reasoning_details: [
        { type: 'reasoning.text', index: 0, text: 'Hm', signature: 's' },
        { type: 'reasoning.encrypted', index: 1, data: 'd' },
      ],
    },
  ],
  [
    'a function of the older kind',
    [{ function_call: { name: 'f', arguments: '{"a"' } }, { function_call: { arguments: ':1}' } }],
    { ...said, function_call: { name: 'f', arguments: '{"a":1}' } },
  ],
  [
    'calls that all have one place, and a seal',
    [
      {
        tool_calls: [
          {
            index: 0,
            id: 'a',
            function: { name: 'f', arguments: '{}' },
            extra_content: { google: { thought_signature: 'c2VhbA==' } },
          },
        ],
      },
      { tool_calls: [{ index: 0, id: 'b', function: { name: 'g', arguments: '{}' } }] },
    ],
    {
      ...said,
      tool_calls: [
        {
          id: 'a',
          type: 'function',
          function: { name: 'f', arguments: '{}' },
          extra_content: { google: { thought_signature: 'c2VhbA==' } },
        },
        { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
      ],
    },
  ],
])('%s', (_what, deltas, message) => {
  expect(messageOf(...deltas)).toEqual(message)
})

test.each([
  [{}, 'function_call', { function_call: { name: 'f', arguments: '{}' } }],
  [{}, 'tool_calls', { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] }],
  [{ content: 'a' }, 'stop', {}],
])('an answer that says stop after %j ends by %s', (first, finish, called) => {
  const answer = gathered(delta({ ...first, ...called }), delta({}, 'stop'))
  expect(answer).toMatchObject({ choices: [{ finish_reason: finish }] })
})

test.each([
  ['repeats its deltas as texts', { text: 'a' }, {}, {}],
  ['has an empty function call in each delta', {}, { name: '', arguments: '' }, null],
])('a chat that %s is a chat', (_what, members, function_call, tool_calls) => {
  const choice = { index: 0, ...members, delta: { content: 'a', function_call, tool_calls } }
  const chunk = { id: 'c', object: 'chat.completion.chunk', choices: [choice] }
  const end = { index: 0, text: '', delta: {}, finish_reason: 'stop' }
  expect(gathered(chunk, { ...chunk, choices: [end] })).toEqual({
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
  })
})

test('members beside the choices', () => {
  const answer = gathered(
    { id: '', model: '', choices: [], prompt_filter_results: [1] },
    { ...delta({ content: 'a' }), model: 'm', system_fingerprint: 'f', citations: ['x'] },
    { ...delta({}, 'length'), model: 'm', system_fingerprint: null, citations: ['x', 'y'] },
    { id: 'c', choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
    { id: 'c', choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } },
  )
  expect(answer).toEqual({
    id: 'c',
    object: 'chat.completion',
    model: 'm',
    prompt_filter_results: [1],
    system_fingerprint: 'f',
    citations: ['x', 'y'],
    choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'length' }],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  })
})

test('a legacy completion with log probabilities', () => {
  const chunk = (text: string, finish: string | null): JsonRecord => ({
    id: 'c',
    object: 'text_completion',
    choices: [{ index: 0, text, logprobs: { tokens: [text] }, finish_reason: finish }],
  })
  expect(gathered(chunk('a', null), chunk('b', 'stop'))).toEqual({
    id: 'c',
    object: 'text_completion',
    choices: [{ index: 0, text: 'ab', logprobs: { tokens: ['a', 'b'] }, finish_reason: 'stop' }],
  })
})
