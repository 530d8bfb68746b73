import { expect, test } from 'vitest'
import { parseOperatorEntries } from './operator-entries.ts'

test('an entry of models.dev can be pasted unchanged', () => {
  const entry = {
    id: 'acme-1',
    name: 'Acme 1',
    attachment: false,
    reasoning: true,
    reasoning_options: [{ type: 'toggle' }, { type: 'effort', values: ['low', 'high'] }],
    interleaved: { field: 'reasoning_content' },
    temperature: true,
    tool_call: true,
    cost: { input: 1, output: 2 },
    limit: { context: 200_000, output: 64_000 },
    modalities: { input: ['text', 'image'], output: ['text'] },
  }
  const { id, name, attachment, cost, ...capabilities } = entry
  expect([id, name, attachment, cost]).toHaveLength(4)
  expect(parseOperatorEntries(JSON.stringify({ 'acme-1': entry, 'acme-[2-9]*(50)': {} }))).toEqual([
    { name: 'acme-1', match: 'acme-1', type: null, base: null, capabilities },
    { name: 'acme-[2-9]*(50)', match: 'acme-[2-9]*', type: 50, base: null, capabilities: {} },
  ])
  expect(parseOperatorEntries('')).toEqual([])
})

test.each([
  ['{', 'it is not valid JSON'],
  ['[]', 'it must be a JSON object'],
  ['{"a b": {}}', 'the name "a b"'],
  ['{"": {}}', 'the name ""'],
  ['{"a[": {}}', 'the name "a["'],
  ['{"*a*b*c*d*e": {}}', 'at most 4 stars'],
  ['{"m": 1}', '“m”: it must be a JSON object'],
  [
    '{"m": {"reasonning": true}}',
    '“m”: must not have "reasonning"; supported are maker, reasoning',
  ],
  ['{"m": {"reasoning": "yes"}}', '“m”: reasoning: must be true or false'],
  ['{"m": {"limit": {"output": -1}}}', '“m”: limit: output: must be a whole number from 0'],
  ['{"m": {"limit": {"outputs": 1}}}', '“m”: limit: must not have "outputs"'],
  ['{"m": {"reasoning_options": {}}}', '“m”: reasoning_options: must be a list'],
  ['{"m": {"reasoning_options": [{"type": "level"}]}}', 'type: must be one of "toggle", "effort"'],
  [
    '{"m": {"reasoning_options": [{"type": "effort", "values": ["huge"]}]}}',
    'values: must be a list of some of none, minimal',
  ],
  ['{"m": {"reasoning_options": [{"type": "effort"}]}}', 'an object with "values"'],
  ['{"m": {"interleaved": {"placeholder": ""}}}', 'interleaved: must be an object with "field"'],
  ['{"m": {"base_model": 5}}', 'base_model: must be a name'],
  ['{"m": {"__proto__": true, "constructor": 1}}', 'must not have "__proto__"'],
])('%s is rejected: %s', (text, expected) => {
  const parsed = parseOperatorEntries(text)
  expect(Array.isArray(parsed)).toBe(false)
  expect(parsed).toMatchObject({ en: expect.stringContaining(expected) })
  expect(parsed).toMatchObject({ zh: expect.stringMatching(/./) })
})
