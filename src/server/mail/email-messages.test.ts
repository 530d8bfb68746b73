import { describe, expect, test } from 'vitest'
import { credentialEmail } from './credential-email.ts'
import {
  addressInUseEmail,
  channelStatusEmail,
  codeEmail,
  quotaEmail,
  resetEmail,
  testEmail,
} from './email-messages.ts'

const NAME = 'Gate "<b>house</b>" & Co'
const URL = 'https://gate.example/user/reset?email=a%40b.c&token=0123'
const EVIL = `<script>alert(1)</script>'"&`

const messages = {
  code: codeEmail(NAME, 'zh', { code: 'ABC234' }),
  'code, English': codeEmail(NAME, 'en', { code: 'ABC234' }),
  'address in use': addressInUseEmail(NAME, 'zh', { url: URL }),
  reset: resetEmail(NAME, 'en', { url: URL, username: EVIL }),
  quota: quotaEmail(NAME, { username: EVIL, isExhausted: false, quota: '$0.0018', url: URL }),
  exhausted: quotaEmail(NAME, { username: EVIL, isExhausted: true, quota: '$0', url: URL }),
  channels: channelStatusEmail(NAME, {
    changes: [{ id: 7, name: EVIL, isEnabled: false, reason: { zh: '测试通过', en: 'why' } }],
    url: URL,
  }),
  credential: credentialEmail(NAME, null, {
    username: EVIL,
    change: 'password',
    time: '2026-11-28 21:00 UTC',
    caller: { device: EVIL, address: '::1' },
    url: URL,
  }),
  test: testEmail(NAME, 'zh'),
}

describe.each(Object.entries(messages))('email message: %s', (_what, message) => {
  test('has the same content as text and as HTML', () => {
    const visible = message.html
      .replace(/<style[^]*<\/style>/g, '')
      .replace(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&')
    for (const line of message.text.split('\n').filter((text) => text !== '' && text !== '-- ')) {
      // The HTML shows a link as a button and as an address below it.
      for (const part of line.split(/(?:: |：)(?=https:)/)) expect(visible).toContain(part)
    }
    expect(message.text).toContain(NAME)
  })

  test('contains no markup from its parameters', () => {
    expect(message.html).not.toMatch(/<script|<b>/)
    expect(message.html).not.toMatch(/<(img|link|iframe|object)\b/)
  })

  // Users with accounts on several gateways can identify the sender.
  test('has a one-line subject with the name of the system', () => {
    expect(message.subject).toMatch(/^\S[^\r\n]*\S$/)
    expect(message.subject).toContain(NAME)
  })
})

test('uses the reader’s language, or both if it is unknown', () => {
  expect(messages['code, English'].text).not.toMatch(/\p{Script=Han}/u)
  expect(messages.code.text).toContain('您好')
  expect(messages.quota.text).toMatch(/您好[^]*Hello/)
})

test('the link label ends with the colon of its language', () => {
  expect(messages.quota.text).toContain(`立即充值：${URL}`)
  expect(messages.quota.text).toContain(`Top up: ${URL}`)
})

test('a link with special characters is escaped', () => {
  const url = `${URL}&x="><a href="https://evil.example/`
  const { html } = resetEmail('S', 'zh', { url, username: 'u' })
  expect(html.match(/<a /g)).toHaveLength(2)
  expect(html).not.toContain('"https://evil.example')
})
