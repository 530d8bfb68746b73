import { expect, test } from 'vitest'
import { outputLimitOf } from './model-table.ts'

test.each([
  ['gpt-4o', 16_384],
  ['gpt-4o-2024-05-13', 4096],
  // A date that is not in the data.
  ['gpt-4o-2031-01-01', 16_384],
  ['openai/gpt-4o', 16_384],
  ['claude-opus-4-1-20250805', 32_000],
  ['claude-opus-4-1@20250805', 32_000],
  ['eu.anthropic.claude-opus-4-1-20250805-v1:0', 32_000],
  ['anthropic/claude-3.5-haiku:free', 8192],
  ['amazon.nova-pro-v1:0', 8192],
  // Hosts differ between 8,192 and 163,839 tokens.
  ['deepseek-ai/DeepSeek-R1', 164_000],
])('%s generates at most %i tokens', (model, tokens) => {
  expect(outputLimitOf({ model })).toBe(tokens)
})

test.each(['my-own-model', '', 'text-embedding-3-large', 'constructor', '__proto__'])(
  'nothing is known of "%s"',
  (model) => {
    expect(outputLimitOf({ model })).toBeNull()
  },
)
