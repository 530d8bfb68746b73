import { expect, test } from 'vitest'
import { CallAssembly, withOwnCallIds } from './tool-calls.ts'

test('calls that were held back are reported in the order in which they began', () => {
  const assembly = new CallAssembly()
  const [first, second, third] = [assembly.begin(0), assembly.begin(0), assembly.begin(0)]
  expect(assembly.add(third, { id: 'c', name: 'third' })).toEqual([])
  expect(assembly.add(first, { id: 'a', name: 'first' })).toEqual([])
  const told = { choice: 0, kind: 'toolCall', signature: null }
  expect(assembly.open(0)).toEqual([
    { ...told, call: 0, id: 'a', name: 'first' },
    { ...told, call: 1, id: 'c', name: 'third' },
  ])
  expect(assembly.open(0)).toEqual([])
  assembly.add(second, { id: 'a', name: 'second' })
  expect(assembly.find(0, 'a')).toBe(first)
  expect(assembly.find(1, 'a')).toBeUndefined()
  expect(assembly.open(0)).toEqual([{ ...told, call: 2, id: 'a', name: 'second' }])
})

// A malicious upstream may send as many as fit into its answer.
test.each(['named', ''])('a hundred thousand calls %s take little time', (name) => {
  const assembly = new CallAssembly()
  const { user, system } = process.cpuUsage()
  for (let count = 0; count < 100_000; count += 1) {
    assembly.open(0)
    assembly.add(assembly.begin(0), { id: `c${count}`, name })
    assembly.find(0, `c${count}`)
  }
  assembly.endAll()
  const used = process.cpuUsage({ user, system })
  expect((used.user + used.system) / 1000).toBeLessThan(2000)
})

test('thirty thousand calls with the same id take little time', () => {
  const count = 30_000
  const call = { kind: 'toolCall', id: 'c', name: 'f', argumentsJson: '{}', signature: null }
  const result = { kind: 'toolResult', callId: 'c', parts: [] }
  const { user, system } = process.cpuUsage()
  // Only kinds and ids are read.
  const [called, answered] = withOwnCallIds([
    { role: 'assistant', parts: Array.from({ length: count }, () => call) },
    { role: 'user', parts: Array.from({ length: count }, () => result) },
  ] as unknown as Parameters<typeof withOwnCallIds>[0])
  const used = process.cpuUsage({ user, system })
  expect((used.user + used.system) / 1000).toBeLessThan(2000)
  const ids = called?.parts.map((part) => (part.kind === 'toolCall' ? part.id : ''))
  expect(new Set(ids).size).toBe(count)
  expect(answered?.parts.map((part) => (part.kind === 'toolResult' ? part.callId : ''))).toEqual(
    ids,
  )
})
