import { expect, test } from 'vitest'
import { auditSinkOf } from './audit-sink-address.ts'
import { framedForTcp, syslogMessage } from './syslog.ts'

const entry = { created_at: 1_800_000_000, action: 'user.update', before: null, after: { a: '中' } }

test('a message has the header of RFC 5424 and the entry as JSON', () => {
  expect(syslogMessage(entry, { host: 'gate 1', isRefusal: false }).toString()).toBe(
    `<109>1 2027-01-15T08:00:00.000Z gate1 gatehouse ${process.pid} user.update - ${JSON.stringify(entry)}`,
  )
  expect(syslogMessage(entry, { host: '', isRefusal: true }).toString()).toMatch(/^<108>1 \S+ - /)
})

test('a message that is too long goes without the values', () => {
  const long = { ...entry, after: { About: 'x'.repeat(9000) } }
  const text = syslogMessage(long, { host: 'gate', isRefusal: false }).toString()
  expect(text.length).toBeLessThan(8192)
  expect(JSON.parse(text.slice(text.indexOf('{')))).toMatchObject({ after: null, is_cut: true })
})

test('over TCP the length in bytes stands before a message', () => {
  expect(framedForTcp(Buffer.from('中')).toString()).toBe('3 中')
})

test.each([
  ['https://siem.example.com/audit', { kind: 'webhook', url: 'https://siem.example.com/audit' }],
  ['syslog+udp://10.0.0.9', { kind: 'syslog', transport: 'udp', host: '10.0.0.9', port: 514 }],
  ['syslog+tcp://[::1]:601', { kind: 'syslog', transport: 'tcp', host: '::1', port: 601 }],
  ['syslog+tcp://host:0', null],
  ['syslog+tcp://host:65536', null],
  ['syslog://host', null],
  ['https://user:pw@host/', null],
  ['ftp://host/', null],
  ['', null],
])('sink %s', (text, sink) => {
  expect(auditSinkOf(text)).toEqual(sink)
})
