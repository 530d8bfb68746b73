import { expect, test } from 'vitest'
import { capabilityChanges } from './capability-changes.ts'

test('lists differing members, and limits separately', () => {
  const before = '{"reasoning":true,"limit":{"context":100,"output":10},"tool_call":true}'
  const after = '{"reasoning":false,"limit":{"context":100,"output":20},"prefill":true}'
  expect(capabilityChanges(before, after)).toEqual([
    { member: 'reasoning', before: 'true', after: 'false' },
    { member: 'limit.output', before: '10', after: '20' },
    { member: 'tool_call', before: 'true', after: '' },
    { member: 'prefill', before: '', after: 'true' },
  ])
  expect(capabilityChanges('{}', '{}')).toEqual([])
})
