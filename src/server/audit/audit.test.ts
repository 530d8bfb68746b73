import { expect, test } from 'vitest'
import { SECRET_CONFIG_MEMBERS } from '../../contract/channel.ts'
import { AUDIT_SECRET } from '../../contract/audit.ts'
import { auditedChange } from './audit.ts'

test('stores only the members that differ', () => {
  const before = { id: 1, name: 'a', group: 'x', quota: 5 }
  const after = { id: 1, name: 'b', group: 'x', quota: 5 }
  expect(auditedChange({ before, after })).toEqual({ before: { name: 'a' }, after: { name: 'b' } })
})

test('equal states are no change', () => {
  expect(auditedChange({ before: { a: 1, b: null }, after: { a: 1 } })).toBeNull()
  expect(auditedChange({ before: {}, after: {} })).toBeNull()
})

test('created and deleted objects are stored completely', () => {
  expect(auditedChange({ before: null, after: { name: 'a' } })).toEqual({
    before: null,
    after: { name: 'a' },
  })
  expect(auditedChange({ before: { name: 'a' }, after: null })).toEqual({
    before: { name: 'a' },
    after: null,
  })
})

test('a secret only shows whether it changed or is not set', () => {
  const before = { key: 'sk-old', password: '', SMTPToken: 'old', access_token: null }
  const after = { key: 'sk-new', password: 'hash', SMTPToken: '', access_token: 't' }
  expect(auditedChange({ before, after })).toEqual({
    before: { key: AUDIT_SECRET, password: '', SMTPToken: AUDIT_SECRET, access_token: null },
    after: {
      key: AUDIT_SECRET,
      password: AUDIT_SECRET,
      SMTPToken: '',
      access_token: AUDIT_SECRET,
    },
  })
})

test('JSON texts are compared by member: prices by model, secrets of a config', () => {
  const before = {
    ModelRatio: '{"gpt-4o": 1.25, "o3": 1}',
    config: '{"region":"eu","sk":"secret","ak":"name"}',
  }
  const after = {
    ModelRatio: '{"o3": 2, "gpt-4o": 1.25, "new": 3}',
    config: '{"region":"us","sk":"other","ak":"name"}',
  }
  expect(auditedChange({ before, after })).toEqual({
    before: { ModelRatio: { o3: 1, new: null }, config: { region: 'eu', sk: AUDIT_SECRET } },
    after: { ModelRatio: { o3: 2, new: 3 }, config: { region: 'us', sk: AUDIT_SECRET } },
  })
  expect(auditedChange({ before: null, after })?.after).toMatchObject({
    config: { region: 'us', sk: AUDIT_SECRET, ak: AUDIT_SECRET },
  })
})

test.each(SECRET_CONFIG_MEMBERS)('no value of %s in a config is stored', (member) => {
  for (const [old, now] of [
    ['hidden-1', 'hidden-2'],
    [{ 'X-Key': 'hidden-1' }, { 'X-Key': 'hidden-2', 'X-Other': 'hidden-3' }],
  ]) {
    const before = { config: JSON.stringify({ [member]: old }) }
    const after = { config: JSON.stringify({ [member]: now }) }
    for (const change of [
      { before, after },
      { before: null, after },
      { before, after: null },
    ]) {
      const text = JSON.stringify(auditedChange(change))
      expect(text).toContain(AUDIT_SECRET)
      expect(text).not.toContain('hidden')
    }
  }
})

test('names of built-in object members are treated like others', () => {
  const before = { ModelRatio: '{"__proto__": 1, "constructor": 2}' }
  const after = { ModelRatio: '{"__proto__": 5, "constructor": 2}' }
  const change = auditedChange({ before, after })
  expect(JSON.stringify(change)).toBe(
    '{"before":{"ModelRatio":{"__proto__":1}},"after":{"ModelRatio":{"__proto__":5}}}',
  )
})

test('a long text is cut between characters', () => {
  const change = auditedChange({ before: { About: '' }, after: { About: '😀'.repeat(3000) } })
  expect(Object(change?.after).About).toBe(`${'😀'.repeat(2000)}…`)
})
