import { expect, test } from 'vitest'
import { emptyProvider } from '../../../contract/option/sign-in-providers.ts'
import { entriesOf, ruleFields, ruleOf, textOfEntries } from './provider-entries.ts'

test('keeps the order, and leaves out defaults', () => {
  const text = '{"corp":{"title":"Corp","enabled":false},"discord":{"client_id":"x"}}'
  const entries = entriesOf(text)
  expect(entries.map(({ name }) => name)).toEqual(['corp', 'discord'])
  expect(entries[1]?.provider).toEqual({ ...emptyProvider, client_id: 'x' })
  expect(textOfEntries(entries)).toBe(text)
})

test.each(['', 'x', 'null'])('%j has no providers', (text) => {
  expect(entriesOf(text)).toEqual([])
})

test.each([
  [{ claim: 'groups', contains: 'ops', group: 'vip', role: 'admin' as const }],
  [{ claim: 'trust_level', equals: '3', group: 'vip' }],
])('%j becomes fields and back', (rule) => {
  expect(ruleOf(ruleFields(rule))).toEqual(rule)
})
