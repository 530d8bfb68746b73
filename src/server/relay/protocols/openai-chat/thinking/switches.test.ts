import { describe, expect, test } from 'vitest'
import type { DialectName } from '../../canonical/chat-request.ts'
import { dialects } from '../../../conversion/dialects.ts'
import { traitsOf } from '../../../vendors/registry.ts'

/**
 * Each vendor's name of the reasoning switch, and the models for which it is omitted because they
 * reject it.
 */

const ASKING: Record<DialectName, object> = {
  anthropic: { max_tokens: 64_000, messages: [{ role: 'user', content: 'Hi' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  openai: { messages: [{ role: 'user', content: 'Hi' }] },
}

const SAID = [
  'thinking',
  'enable_thinking',
  'thinking_budget',
  'reasoning',
  'reasoning_effort',
  'reasoning_split',
]

function sentTo(type: number, model: string, client: DialectName, members: object) {
  const request = dialects[client].readRequest({ model, ...ASKING[client], ...members })
  const to = { model, type, traits: traitsOf(type), isStream: false, asksForUsage: false }
  return dialects.openai.writeRequest(request, to)
}

function said(type: number, model: string, client: DialectName, members: object) {
  const sent = sentTo(type, model, client, members)
  return Object.fromEntries(Object.entries(sent).filter(([name]) => SAID.includes(name)))
}

const STOPPED = { thinking: { type: 'disabled' } }
const off = (type: number, model: string) => said(type, model, 'anthropic', STOPPED)
const budget = (type: number, model: string, tokens: number) =>
  said(type, model, 'anthropic', { thinking: { type: 'enabled', budget_tokens: tokens } })

test.each([
  [16, 'glm-4.6', STOPPED],
  [16, 'glm-5.2', STOPPED],
  // "This model always engages in thinking and cannot be disabled; please use low, high, or max".
  [16, 'glm-5.3-flash', { reasoning_effort: 'low' }],
  [16, 'glm-4-plus', {}],
  [25, 'kimi-k2.6', STOPPED],
  // "invalid thinking: only type=enabled is allowed for this model".
  [25, 'kimi-k2.7-code', {}],
  [25, 'kimi-k3', { reasoning_effort: 'low' }],
  [36, 'deepseek-flash', STOPPED],
  [36, 'deepseek-v4-pro', STOPPED],
  [40, 'doubao-seed-1-6-250615', STOPPED],
  [40, 'deepseek-v3-1-250821', STOPPED],
  // "Unsupported thinking type for the current model: disabled".
  [40, 'doubao-seed-1-6-thinking-250715', {}],
  [40, 'doubao-1-5-pro-32k-250115', {}],
  [40, 'ep-20260101000000-abcde', {}],
  [17, 'qwen-plus', { enable_thinking: false }],
  [49, 'qwen3-32b', { enable_thinking: false }],
  [49, 'qwen3.5-plus', { enable_thinking: false }],
  [49, 'glm-5', { enable_thinking: false }],
  [49, 'qwen3-coder-plus', {}],
  [49, 'qwen3-30b-a3b-thinking-2507', {}],
  [44, 'Qwen/Qwen3-32B', { enable_thinking: false }],
  [44, 'Pro/deepseek-ai/DeepSeek-V3.2', { enable_thinking: false }],
  // "current model does not support parameter `enable_thinking`".
  [44, 'Qwen/Qwen2.5-VL-32B-Instruct', {}],
  [50, 'deepseek-v4-pro', {}],
  [1, 'gpt-5.1', { reasoning_effort: 'none' }],
  [45, 'grok-4.3', { reasoning_effort: 'none' }],
  [45, 'grok-4.6', { reasoning_effort: 'low' }],
  [45, 'grok-4.20-0309-reasoning', {}],
  [28, 'mistral-medium-3-5', { reasoning_effort: 'none' }],
  [28, 'mistral-large-2512', {}],
  [29, 'qwen/qwen3.6-27b', { reasoning_effort: 'none' }],
  [29, 'openai/gpt-oss-120b', {}],
  [27, 'MiniMax-M3', { ...STOPPED, reasoning_split: true }],
  [27, 'MiniMax-M2.5', { reasoning_split: true }],
  [47, 'deepseek-v3.2', STOPPED],
  [47, 'qwen3-32b', { enable_thinking: false }],
  [20, 'deepseek/deepseek-v4-pro', { reasoning: { enabled: false } }],
  [20, 'anthropic/claude-sonnet-4.6', {}],
  [41, 'deepseek/deepseek-v4-pro', { enable_thinking: false }],
])('type %i, %s, is told not to think: %j', (type, model, expected) => {
  expect(off(type, model)).toEqual(expected)
  const generationConfig = { thinkingConfig: { thinkingBudget: 0 } }
  expect(said(type, model, 'gemini', { generationConfig })).toEqual(expected)
})

const THINKS = { thinking: { type: 'enabled' } }

test.each([
  [36, 'deepseek-flash', 12_000, { ...THINKS, reasoning_effort: 'high' }],
  [16, 'glm-4.6', 6000, { ...THINKS, reasoning_effort: 'medium' }],
  [16, 'glm-5.3', 6000, { reasoning_effort: 'high' }],
  [40, 'doubao-seed-2-0-pro-260215', 4000, { ...THINKS, reasoning_effort: 'low' }],
  [49, 'qwen3-32b', 4000, { enable_thinking: true, thinking_budget: 4000 }],
  // Above the maximum of the smallest model: each model gets its own maximum.
  [17, 'qwen3-8b', 60_000, { enable_thinking: true }],
  [49, 'deepseek-v3.2', 4000, { enable_thinking: true, reasoning_effort: 'low' }],
  [44, 'Qwen/Qwen3-8B', 60_000, { enable_thinking: true, thinking_budget: 32_768 }],
  [50, 'qwen3-32b', 4000, { reasoning_effort: 'low' }],
  // "cannot specify both 'thinking' and 'reasoning_effort'".
  [25, 'kimi-k2.6', 4000, THINKS],
  [27, 'MiniMax-M3', 4000, { thinking: { type: 'adaptive' }, reasoning_split: true }],
  [47, 'deepseek-v3.2', 4000, THINKS],
  [47, 'qwen3-32b', 4000, { enable_thinking: true }],
  [20, 'deepseek/deepseek-v4-pro', 12_000, { reasoning_effort: 'high' }],
])('type %i, %s, is told to think up to %i tokens: %j', (type, model, tokens, expected) => {
  expect(budget(type, model, tokens)).toEqual(expected)
})

test('an effort becomes a token budget for vendors without efforts', () => {
  const effort = (type: number, model: string, word: string) =>
    said(type, model, 'anthropic', {
      thinking: { type: 'adaptive' },
      output_config: { effort: word },
    })
  expect(effort(49, 'qwen3-max', 'medium')).toEqual({
    enable_thinking: true,
    thinking_budget: 8192,
  })
  expect(effort(49, 'qwen3-max', 'max')).toEqual({ enable_thinking: true })
  expect(effort(40, 'doubao-seed-1-8-251228', 'max')).toEqual({
    ...THINKS,
    reasoning_effort: 'high',
  })
  expect(effort(16, 'glm-5.3', 'medium')).toEqual({ reasoning_effort: 'high' })
})

/** Efforts that the models accept, from the lowest to the highest that clients send. */
test.each([
  [45, 'grok-3-mini', 'low', 'high', 'high'],
  [45, 'grok-4.20-multi-agent-0309', 'low', 'medium', 'xhigh'],
  [45, 'grok-4.3', 'low', 'medium', 'high'],
  [45, 'grok-4.5', 'low', 'medium', 'high'],
  [45, 'grok-4.6', 'low', 'medium', 'xhigh'],
  [45, 'grok-4.7', 'low', 'medium', 'xhigh'],
  [45, 'grok-3', null, null, null],
  [45, 'grok-4-0709', null, null, null],
  [45, 'grok-4-1-fast-reasoning', null, null, null],
  [45, 'grok-4.20-non-reasoning', null, null, null],
  [45, 'grok-code-fast-1', null, null, null],
  [45, 'grok-build-0.1', null, null, null],
  [28, 'mistral-medium-3-5', 'high', 'high', 'high'],
  [28, 'mistral-small-2603', 'high', 'high', 'high'],
  [28, 'magistral-small-latest', 'high', 'high', 'high'],
  [28, 'magistral-medium-latest', null, null, null],
  [28, 'mistral-medium-2508', null, null, null],
  [28, 'codestral-latest', null, null, null],
  [29, 'openai/gpt-oss-120b', 'low', 'medium', 'high'],
  [39, 'openai/gpt-oss-20b', 'low', 'medium', 'high'],
  [37, '@cf/openai/gpt-oss-120b', 'low', 'medium', 'high'],
  [29, 'qwen/qwen3-32b', 'default', 'default', 'default'],
  [29, 'llama-3.3-70b-versatile', null, null, null],
])('type %i, %s, is told %s for minimal, %s for medium, %s for max', (type, model, ...words) => {
  const told = ['minimal', 'medium', 'max'].map((effort) => {
    const thinking = { thinking: { type: 'adaptive' }, output_config: { effort } }
    // Anthropic has no such effort; it corresponds to Anthropic's minimum budget.
    const least = { thinking: { type: 'enabled', budget_tokens: 1024 } }
    return said(type, model, 'anthropic', effort === 'minimal' ? least : thinking)
  })
  expect(told).toEqual(words.map((word) => (word === null ? {} : { reasoning_effort: word })))
})

test('sends the switch to vendors that always require it', () => {
  expect(said(27, 'MiniMax-M3', 'anthropic', {})).toEqual({ reasoning_split: true })
  expect(said(27, 'MiniMax-Text-01', 'anthropic', {})).toEqual({})
  const adaptive = { thinking: { type: 'adaptive' } }
  expect(said(20, 'deepseek/deepseek-v3.2', 'anthropic', adaptive)).toEqual({
    reasoning: { enabled: true },
  })
})

describe('with a mandatory tool call', () => {
  const tool = (name: string) => ({ name, input_schema: { type: 'object', properties: {} } })
  const named = { tools: [tool('f'), tool('g')], tool_choice: { type: 'tool', name: 'g' } }
  const choice = { type: 'function', function: { name: 'g' } }

  test.each([
    [36, 'deepseek-v4-pro', STOPPED],
    [25, 'kimi-k2.6', STOPPED],
    [49, 'qwen3.7-max', { enable_thinking: false }],
    [17, 'glm-5', { enable_thinking: false }],
  ])('type %i, %s, is told not to think', (type, model, expected) => {
    const asked = { ...named, thinking: { type: 'enabled', budget_tokens: 2000 } }
    for (const members of [named, asked]) {
      const sent = sentTo(type, model, 'anthropic', members)
      expect(sent).toMatchObject({ ...expected, tool_choice: choice })
      expect(sent).not.toHaveProperty('reasoning_effort')
    }
    const free = { ...named, tool_choice: { type: 'auto' } }
    expect(said(type, model, 'anthropic', free)).toEqual({})
  })

  test('Kimi K3, which always reasons, receives that tool alone', () => {
    const { tools, tool_choice: sent } = sentTo(25, 'kimi-k3', 'anthropic', named)
    expect(sent).toBe('required')
    expect(tools).toMatchObject([{ function: { name: 'g' } }])
  })

  test('other models receive the client’s tool choice', () => {
    const { thinking, tool_choice: sent } = sentTo(16, 'glm-5', 'anthropic', named)
    expect([thinking, sent]).toEqual([undefined, choice])
  })
})

test('drops sampling parameters for models with fixed ones', () => {
  const figures = { temperature: 0.2, top_p: 0.9 }
  for (const model of ['kimi-k3', 'kimi-k3.1-pro', 'kimi-k2.6', 'kimi-for-coding']) {
    expect(sentTo(25, model, 'anthropic', figures)).not.toHaveProperty('temperature')
    expect(sentTo(25, model, 'anthropic', figures)).not.toHaveProperty('top_p')
  }
  for (const model of ['moonshot-v1-8k', 'kimi-k2-0905-preview']) {
    expect(sentTo(25, model, 'anthropic', figures)).toMatchObject(figures)
  }
})

test('MiniMax receives its reasoning back unchanged', () => {
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: '' }] },
    { role: 'user', content: 'And?' },
  ]
  const thoughtAt = (type: number) => sentTo(type, 'MiniMax-M3', 'anthropic', { messages }).messages
  const detail = { type: 'reasoning.text', format: 'MiniMax-response-v1', text: 'Hm.' }
  expect(thoughtAt(27)).toMatchObject([{}, { reasoning_details: [detail] }, {}])
  expect(thoughtAt(50)).toMatchObject([{}, { reasoning_content: 'Hm.' }, {}])
})

test('sends nothing if the client sets nothing', () => {
  for (const [type, model] of [
    [36, 'deepseek-flash'],
    [49, 'qwen3-max'],
    [44, 'Qwen/Qwen3-8B'],
  ] as const) {
    expect(said(type, model, 'anthropic', {})).toEqual({})
  }
})
