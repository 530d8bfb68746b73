import { expect, test } from 'vitest'
import { auditHash, ChainCheck, type AuditContent, type ChainedAudit } from './audit-chain.ts'

const content = (request_id: string): AuditContent => ({
  created_at: 1,
  actor_id: 1,
  actor_name: 'root',
  address: '192.0.2.1',
  request_id,
  action: 'user.update',
  target_id: 2,
  target_name: 'li',
  old_values: '{"quota":1}',
  new_values: '{"quota":2}',
})

function chain(length: number, anchor = ''): ChainedAudit[] {
  let previous = anchor
  return Array.from({ length }, (_, index) => {
    const row = content(String(index))
    const hash = auditHash(previous, row)
    const chained = { ...row, id: index + 1, prev_hash: previous, hash }
    previous = hash
    return chained
  })
}

function problems(rows: readonly ChainedAudit[], { anchor = '', head = '' } = {}): string[] {
  const check = new ChainCheck(anchor)
  for (const row of rows) check.add(row)
  check.end(head)
  return check.problems
}
const headOf = (rows: readonly ChainedAudit[]) => ({ head: rows.at(-1)?.hash ?? '' })

test('an unbroken chain has no problem, also behind an anchor and behind entries without hash', () => {
  const rows = chain(4)
  expect(problems(rows, headOf(rows))).toEqual([])
  expect(problems(rows.slice(2), { ...headOf(rows), anchor: rows[1]?.hash ?? '' })).toEqual([])
  const old = { ...content('old'), id: 0, prev_hash: null, hash: null }
  expect(problems([old, ...rows], headOf(rows))).toEqual([])
  expect(problems([])).toEqual([])
})

test.each([
  'created_at',
  'actor_id',
  'actor_name',
  'address',
  'request_id',
  'action',
  'target_id',
  'target_name',
  'old_values',
  'new_values',
] as const)('a changed %s is found', (member) => {
  const rows = chain(3)
  const changed = rows.with(1, Object.assign({ ...content('1') }, rows[1], { [member]: 'x' }))
  expect(problems(changed, headOf(rows))).toEqual([
    expect.stringMatching(/^audit entry 2 .* was changed: its hash does not fit/),
  ])
})

test('removed entries are found at every place', () => {
  const rows = chain(5)
  const without = (at: number) => problems(rows.toSpliced(at, 1), headOf(rows))
  expect(without(0)).toEqual([expect.stringContaining('entries before 2 were removed')])
  expect(without(2)).toEqual([expect.stringContaining('entries between 2 and 4 were removed')])
  expect(without(4)).toEqual([expect.stringContaining('after entry 4: later entries were removed')])
  expect(problems([], headOf(rows))).toEqual([expect.stringContaining('entries are missing')])
})

test('an entry that was added past the program is found', () => {
  const rows = chain(2)
  const added = { ...content('added'), id: 3, prev_hash: null, hash: null }
  expect(problems([...rows, added], headOf(rows))).toEqual([
    expect.stringContaining('audit entry 3 (user.update, actor 1) has no hash'),
  ])
})
