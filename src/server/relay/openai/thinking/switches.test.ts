import { expect, test } from 'vitest'
import type { DialectName } from '../../canonical/chat-request.ts'
import { dialects } from '../../dialect/dialects.ts'

/** What each vendor's reference calls it, and what it is silent about where it would refuse. */

const ASKING: Record<DialectName, object> = {
  anthropic: { max_tokens: 64_000, messages: [{ role: 'user', content: 'Hi' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  openai: { messages: [{ role: 'user', content: 'Hi' }] },
}

const SAID = ['thinking', 'enable_thinking', 'thinking_budget', 'reasoning_effort']

function said(type: number, model: string, client: DialectName, members: object) {
  const request = dialects[client].readRequest({ model, ...ASKING[client], ...members })
  const to = { model, type, isStream: false, asksForUsage: false }
  const sent = dialects.openai.writeRequest(request, to)
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
  // More than the smallest of them can think: then as much as each can.
  [17, 'qwen3-8b', 60_000, { enable_thinking: true }],
  [49, 'deepseek-v3.2', 4000, { enable_thinking: true, reasoning_effort: 'low' }],
  [44, 'Qwen/Qwen3-8B', 60_000, { enable_thinking: true, thinking_budget: 32_768 }],
  [50, 'qwen3-32b', 4000, { reasoning_effort: 'low' }],
])('type %i, %s, is told to think up to %i tokens: %j', (type, model, tokens, expected) => {
  expect(budget(type, model, tokens)).toEqual(expected)
})

test('an effort becomes tokens where there is no word for it, and one that is known elsewhere', () => {
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

test('who says nothing leaves it to the vendor', () => {
  for (const [type, model] of [
    [36, 'deepseek-flash'],
    [49, 'qwen3-max'],
    [44, 'Qwen/Qwen3-8B'],
  ] as const) {
    expect(said(type, model, 'anthropic', {})).toEqual({})
  }
})
