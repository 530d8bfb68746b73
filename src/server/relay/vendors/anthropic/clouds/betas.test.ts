import { expect, test } from 'vitest'
import { AMAZONS_BETAS, betasFor, GOOGLES_BETAS } from './betas.ts'

const ADDED = '{"messages":[{"role":"system","content":[{"type":"tool_addition"}]}]}'
const THINKS = '{"thinking":{"type":"enabled","budget_tokens":2000}}'
const INTERLEAVED = 'interleaved-thinking-2025-05-14'
const CHANGES = 'mid-conversation-tool-changes-2026-07-01'

test.each<[string, { header: string; model: string; body: string }, string[]]>([
  [
    'later tools, by their other name',
    { header: 'inline-tools-2026-09-15', model: 'claude-opus-5', body: ADDED },
    [CHANGES],
  ],
  [
    'later tools, of a model without',
    { header: CHANGES, model: 'claude-opus-4-7', body: ADDED },
    [],
  ],
  ['later tools that there are not', { header: CHANGES, model: 'claude-opus-5', body: '{}' }, []],
  [
    'thoughts between calls',
    { header: INTERLEAVED, model: 'eu.anthropic.claude-sonnet-4-5-v1:0', body: THINKS },
    [INTERLEAVED],
  ],
  [
    'thoughts between calls, of a model without',
    { header: INTERLEAVED, model: 'claude-haiku-4-5', body: THINKS },
    [],
  ],
  [
    'thoughts between calls, as they are anyway',
    { header: INTERLEAVED, model: 'claude-opus-4-8', body: '{}' },
    [],
  ],
  [
    'what nobody knows',
    { header: 'constructor, __proto__,,new-2027', model: 'claude-opus-5', body: '{}' },
    [],
  ],
])('%s', (_what, { header, model, body }, expected) => {
  const call = { model, clientHeaders: { 'anthropic-beta': header } }
  for (const known of [AMAZONS_BETAS, GOOGLES_BETAS]) {
    expect(betasFor(known, call, Buffer.from(body))).toEqual(expected)
  }
})

test('sends the effort beta to Amazon only, and no betas for a client that names none', () => {
  const call = { model: 'm', clientHeaders: { 'anthropic-beta': 'effort-2025-11-24' } }
  const body = Buffer.from('{"output_config":{"effort":"low"}}')
  expect(betasFor(AMAZONS_BETAS, call, body)).toEqual(['effort-2025-11-24'])
  expect(betasFor(GOOGLES_BETAS, call, body)).toEqual([])
  expect(betasFor(AMAZONS_BETAS, { model: 'm', clientHeaders: {} }, body)).toEqual([])
})
