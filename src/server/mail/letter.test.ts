import { describe, expect, test } from 'vitest'
import {
  addressInUseLetter,
  channelStatusLetter,
  codeLetter,
  quotaLetter,
  resetLetter,
  testLetter,
} from './letter.ts'

const NAME = 'Gate "<b>house</b>" & Co'
const URL = 'https://gate.example/user/reset?email=a%40b.c&token=0123'
const EVIL = `<script>alert(1)</script>'"&`

const letters = {
  code: codeLetter(NAME, 'zh', { code: 'ABC234' }),
  'code, English': codeLetter(NAME, 'en', { code: 'ABC234' }),
  'address in use': addressInUseLetter(NAME, 'zh', { url: URL }),
  reset: resetLetter(NAME, 'en', { url: URL, username: EVIL }),
  quota: quotaLetter(NAME, { username: EVIL, isExhausted: false, quota: '$0.0018', url: URL }),
  exhausted: quotaLetter(NAME, { username: EVIL, isExhausted: true, quota: '$0', url: URL }),
  channels: channelStatusLetter(NAME, {
    changes: [{ id: 7, name: EVIL, isEnabled: false, reason: { zh: '测试通过', en: 'why' } }],
    url: URL,
  }),
  test: testLetter(NAME, 'zh'),
}

describe.each(Object.entries(letters))('the letter: %s', (_what, letter) => {
  test('has the same content as text and as HTML', () => {
    const visible = letter.html
      .replace(/<style[^]*<\/style>/g, '')
      .replace(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&')
    for (const line of letter.text.split('\n').filter((text) => text !== '' && text !== '-- ')) {
      // The HTML shows a link as a button and as an address below it.
      for (const part of line.split(/(?:: |：)(?=https:)/)) expect(visible).toContain(part)
    }
    expect(letter.text).toContain(NAME)
  })

  test('contains no markup from its parameters', () => {
    expect(letter.html).not.toMatch(/<script|<b>/)
    expect(letter.html).not.toMatch(/<(img|link|iframe|object)\b/)
  })

  // Users with accounts on several gateways can identify the sender.
  test('has a one-line subject with the name of the system', () => {
    expect(letter.subject).toMatch(/^\S[^\r\n]*\S$/)
    expect(letter.subject).toContain(NAME)
  })
})

test('uses the reader’s language, or both if it is unknown', () => {
  expect(letters['code, English'].text).not.toMatch(/\p{Script=Han}/u)
  expect(letters.code.text).toContain('您好')
  expect(letters.quota.text).toMatch(/您好[^]*Hello/)
})

test('the link label ends with the colon of its language', () => {
  expect(letters.quota.text).toContain(`立即充值：${URL}`)
  expect(letters.quota.text).toContain(`Top up: ${URL}`)
})

test('a link with special characters is escaped', () => {
  const url = `${URL}&x="><a href="https://evil.example/`
  const { html } = resetLetter('S', 'zh', { url, username: 'u' })
  expect(html.match(/<a /g)).toHaveLength(2)
  expect(html).not.toContain('"https://evil.example')
})
