import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { defaultModelsByType } from './default-models.ts'
import { describeModels, knownModel, knownModels } from './model-catalogue.ts'

test('a known model is described exactly as on the wire', () => {
  expect(knownModel('gpt-4o-mini')).toEqual(recordedModel())
  // Compared as text, because clients have always received the members in this order.
  expect(JSON.stringify(knownModel('gpt-4o-mini'))).toBe(JSON.stringify(recordedModel()))
})

test('an unknown model has no description of its own', () => {
  for (const id of ['nothing', 'constructor', '__proto__', '']) {
    expect(knownModel(id)).toBeUndefined()
  }
})

test('every default model of a channel type is known', () => {
  const known = new Set(knownModels().map((model) => model.id))
  expect(known).toEqual(
    new Set(Object.values(defaultModelsByType()).flatMap((models) => models ?? [])),
  )
  expect(known.size).toBe(knownModels().length)
})

test.each([
  ['gpt-4o', 'openai'],
  ['claude-opus-4-5', 'anthropic'],
  ['gemini-2.5-pro', 'google gemini'],
  ['deepseek-v4-flash', 'deepseek'],
  ['deepseek-chat', 'deepseek'],
  ['moonshot-v1-8k', 'moonshot'],
  ['qwen-max', 'ali'],
  ['deepl-zh', 'deepl'],
  ['llama-3.3-70b-versatile', 'groq'],
])('%s belongs to its maker, not to a host: %s', (id, owner) => {
  expect(knownModel(id)?.owned_by).toBe(owner)
})

test("describeModels: known ones in the built-in order, then the operator's own, each once", () => {
  const described = describeModels(['my-b', 'claude-opus-4-5', 'my-a', 'gpt-4o', 'my-b', 'gpt-4o'])
  expect(described.map((model) => [model.id, model.owned_by])).toEqual([
    ['gpt-4o', 'openai'],
    ['claude-opus-4-5', 'anthropic'],
    ['my-b', 'custom'],
    ['my-a', 'custom'],
  ])
  expect(JSON.stringify(described[3])).toBe(
    '{"id":"my-a","object":"model","created":1626777600,"owned_by":"custom",' +
      '"permission":null,"root":"my-a","parent":null}',
  )
  expect(describeModels([])).toEqual([])
})

/** Recorded response of a One API server to `GET /v1/models/gpt-4o-mini`. */
function recordedModel(): unknown {
  const file = new URL('../../../fixtures/recordings/relay.json', import.meta.url)
  // The recordings are our own fixture with this shape.
  const { steps } = JSON.parse(readFileSync(file, 'utf8')) as {
    steps: { path: string; answer: { body: unknown } }[]
  }
  return steps.find((step) => step.path === '/v1/models/gpt-4o-mini')?.answer.body
}
