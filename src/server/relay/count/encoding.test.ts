import { describe, expect, test } from 'vitest'
import { encodingOf } from './encoding.ts'

describe('encodingOf', () => {
  test.each([
    'gpt-4o',
    'gpt-4o-mini',
    'gpt-4.1-nano',
    'gpt-4.5-preview',
    'gpt-5',
    'gpt-5.6-sol',
    'gpt-6-luna',
    'gpt-10',
    'o1',
    'o3-mini',
    'o4-mini',
    'chatgpt-4o-latest',
    'gpt-oss-120b',
    'openai/gpt-4o',
    'ft:gpt-4o-mini:acme::x',
  ])('o200k: %s', (model) => {
    expect(encodingOf(model)).toBe('o200k_base')
  })
  test.each([
    'gpt-4',
    'gpt-4-turbo',
    'gpt-3.5-turbo',
    'text-embedding-3-large',
    'claude-opus-5',
    'deepseek-chat',
    'omni-moderation-latest',
    'olmo',
    '',
  ])('cl100k: %s', (model) => {
    expect(encodingOf(model)).toBe('cl100k_base')
  })
})
