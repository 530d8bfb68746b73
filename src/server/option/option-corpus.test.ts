import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anAdmin, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import type { OptionKey } from './option.ts'

/**
 * Hostile values: whatever is sent, the answer is a plain yes or one sentence in each language, and
 * after a refusal everything is as it was.
 */

const many = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, 1])))

/** Ratio texts: text, and whether it is one. */
const RATIOS: [what: string, text: string, isFine: boolean][] = [
  ['nothing', '', false],
  ['an empty map', '{}', true],
  ['a list', '[]', false],
  ['null', 'null', false],
  ['a number', '1', false],
  ['a text', '"a"', false],
  ['a name without quotes', '{a:1}', false],
  ['a comma too many', '{"a":1,}', false],
  ['a text for a number', '{"a":"b"}', false],
  ['a number', '{"a":1}', true],
  ['a map in __proto__', '{"__proto__":{"x":1}}', false],
  ['a text in __proto__', '{"__proto__":"gpt-4o"}', false],
  ['a model named __proto__', '{"__proto__":2}', true],
  ['a text in constructor', '{"constructor":"x"}', false],
  ['a model named toString', '{"toString":2}', true],
  ['a model without a name', '{"":1}', false],
  ['a model named space', '{" ":1}', false],
  ['a name twice', '{"a":1,"a":2}', false],
  ['ten thousand models', many(10_000), true],
  ['more than a million characters', `{"${'a'.repeat(1_000_001)}":1}`, false],
  ['a map in a map', '{"a":{"b":1}}', false],
  ['ten thousand brackets', '['.repeat(10_000), false],
  ['ten thousand maps in each other', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, false],
  ['an empty value', '{"a":""}', false],
  ['a line end in a name', '{"a\\r\\nb":1}', false],
  ['a path as a name', '{"../x":1}', true],
  ['a query as a name', '{"x?api-version=1":1}', true],
  ['less than nothing', '{"a":-1}', false],
  ['nothing less', '{"a":-0}', false],
  ['free', '{"a":0}', true],
  ['more than there is', '{"a":1e309}', false],
  ['next to nothing', '{"a":1e-12}', true],
  ['nothing, in a way', '{"a":1e-400}', false],
  ['a number in quotes', '{"a":"1"}', false],
  ['NaN', '{"a":NaN}', false],
  ['another case', '{"GPT-4o":1}', true],
]

/** Texts for any field; what becomes of each is said by the kind of field. */
const TEXTS: [what: string, text: string][] = [
  ['nothing', ''],
  ['a space', ' '],
  ['a tab', '\t'],
  ['wide spaces', '\u00a0\u3000\u200b\u2060\ufeff'],
  ['the other direction', '\u202Etxt.exe'],
  ['isolates', '\u2066a\u2069'],
  ['a header', 'x\r\nX-Injected: 1'],
  ['a line end', 'a\nb'],
  ['line separators', 'a\u2028b\u2029c'],
  ['escape sequences', '\u001b[2J\u0007\u007f\u009b'],
  ['half a character', 'a\ud800b'],
  ['one letter written two ways', 'é e\u0301'],
  ['letters of other scripts', 'ａｄｍｉｎ аdmin İıßKﬁς'],
  ['a family', '👨‍👩‍👧‍👦'],
  ['a thousand marks', `a${'\u0301'.repeat(1000)}`],
  ['a line that is just short enough', '长'.repeat(2048)],
  ['a line that is too long', '长'.repeat(2049)],
  ['wide characters, as many as fit', '𠮷'.repeat(2048)],
  ['64 KiB', 'a'.repeat(65_536)],
  ['a megabyte', 'a'.repeat(2 ** 20)],
  ['SQL', `' OR '1'='1`],
  ['more SQL', `'; DROP TABLE options;--`],
  ['wildcards', `%_\\${'%'.repeat(64)}`],
  ['templates', '{{7*7}}${7*7}<%= 7*7 %>#{7*7}$(id)`id`|id;sleep 10'],
  ['paths', '../../etc/passwd ..%2f..%2f %00.txt C:\\con \\\\host\\share file:///etc/passwd'],
  ['markup', '<script>alert(1)</script><img src=x onerror=alert(1)>'],
  ...['null', 'undefined', 'NaN', 'true', '[object Object]', '__proto__', 'constructor'].map(
    (word): [string, string] => [word, word],
  ),
]
const LINE_BREAKERS = [
  'a tab',
  'the other direction',
  'isolates',
  'a header',
  'a line end',
  'line separators',
  'escape sequences',
  'half a character',
]
const LONG = ['a line that is too long', '64 KiB', 'a megabyte']

forEachDatabase('hostile option values', (open) => {
  let server: TestServer
  let admin: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(async () => {
    expect(server.faults).toEqual([])
    await server.close()
  })

  const put = (key: string, value: string, language = 'zh') =>
    server.call('PUT', '/api/option/', {
      as: admin,
      body: { key, value },
      headers: { 'accept-language': language },
    })
  /** As another process would read it. */
  async function stored(key: OptionKey): Promise<string> {
    await server.app.options.reload()
    return server.app.options.text(key)
  }

  async function expectOutcome(key: OptionKey, value: string, isFine: boolean): Promise<void> {
    const before = await stored(key)
    const answer = await put(key, value)
    expect(answer.status).toBe(200)
    expect(answer.json['success']).toBe(isFine)
    if (isFine) {
      expect(await stored(key)).toBe(value)
      return
    }
    expect(await stored(key)).toBe(before)
    const english = await put(key, value, 'en')
    expect(answer.message).toMatch(/^「.+」（\w+）/)
    expect(english.message).toMatch(/^The value for “.+”/)
    expect(english.message.replace(/[“"].*["”]/, '')).not.toMatch(/\p{Script=Han}/u)
    // One sentence, whatever was sent.
    for (const { message } of [answer, english]) expect(message.length).toBeLessThan(400)
  }

  describe('ratio texts', () => {
    test.each(RATIOS)('%s: %#', async (_what, text, isFine) => {
      await expectOutcome('ModelRatio', text, isFine)
    })

    test.each(['ModelRatio', 'CompletionRatio', 'GroupRatio'] as const)(
      'the refusal says that it is %s',
      async (key) => {
        expect((await put(key, '{')).message).toContain(key)
      },
    )
  })

  describe('texts', () => {
    test.each(TEXTS)('a single line: %s', async (what, text) => {
      await expectOutcome('SystemName', text, ![...LINE_BREAKERS, ...LONG].includes(what))
    })

    test.each(TEXTS)('a long text: %s', async (what, text) => {
      const isFine = !['half a character', 'a megabyte'].includes(what)
      await expectOutcome('About', text, isFine)
    })

    test.each(TEXTS)('an address: %s', async (what, text) => {
      await expectOutcome('TopUpLink', text, what === 'nothing')
    })

    test.each(TEXTS)('a switch: %s', async (what, text) => {
      await expectOutcome('RegisterEnabled', text, what === 'true')
    })
  })

  test('NUL is in no text: the body counts as unreadable', async () => {
    const before = await stored('About')
    expect(await put('About', 'a\u0000b')).toMatchObject({ status: 400, json: { success: false } })
    expect(await stored('About')).toBe(before)
  })

  test.each([
    ['https://ok.example', true],
    ['HTTPS://OK.EXAMPLE', true],
    ['http://ok.example', true],
    ['https://[::1]:8080/x?y#z', true],
    ['//evil', false],
    ['/\\evil', false],
    ['https:/evil', false],
    ['https:evil', false],
    ['https://a@b', false],
    ['https://a\\@b', false],
    ['https:///evil', false],
    ['https://a b', false],
    ['https://a.example?x=\r\n', false],
    ['file:///etc/passwd', false],
    ['ftp://a', false],
    ['blob:https://a', false],
    ['about:blank', false],
    ['view-source:https://a', false],
    ['javascript://%0aalert(1)', false],
    [' https://ok', false],
    [`https://a/${'b'.repeat(8192)}`, false],
  ])('an address: %s', (text, isFine) => expectOutcome('ChatLink', text, isFine))

  test.each([
    ['0', true],
    ['1125899906842624', true],
    ...[
      '1125899906842625',
      '9007199254740993',
      '-1',
      '-0',
      '0.5',
      '1e3',
      '0x10',
      '1_000',
      '１２',
      '٣',
      '12abc',
      '+5',
      ' 1 ',
      'NaN',
      'Infinity',
      'null',
      '[]',
      '',
    ].map((text): [string, boolean] => [text, false]),
  ])('a whole number: %j', (text, isFine) => expectOutcome('QuotaForNewUser', text, isFine))
})
