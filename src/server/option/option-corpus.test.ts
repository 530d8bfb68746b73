import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RATIO_TEXTS } from '../test/corpora/ratio-texts.ts'
import { TEXTS, textsAround, UNREADABLE_TEXTS } from '../test/corpora/texts.ts'
import { WEB_ADDRESSES } from '../test/corpora/addresses.ts'
import { anAdmin, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import type { OptionKey } from '../../contract/option/options.ts'

/**
 * Hostile values: whatever is sent, the answer is a plain yes or one sentence in each language, and
 * after a refusal everything is as it was.
 */

/** Around the longest line. */
const LINES = textsAround(2048)
/** What is no line: it is broken, or too long. */
const isLine = (what: string): boolean =>
  !UNREADABLE_TEXTS.has(what) && !['64 KiB', 'a mebibyte'].includes(what)
/** Half a character and the character 0 are in no text; that is tested by itself. */
const STORABLE = TEXTS.filter(([what]) => !['half a character', 'the character 0'].includes(what))

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
    test.each(RATIO_TEXTS)('%s: %#', async (_what, text, isFine) => {
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
    test.each(STORABLE)('a single line: %s', async (what, text) => {
      await expectOutcome('SystemName', text, isLine(what))
    })

    test.each(LINES)('a single line: %s', async (_what, text, fits) => {
      await expectOutcome('SystemName', text, fits)
    })

    test.each(STORABLE)('a long text: %s', async (what, text) => {
      const isFine = what !== 'a mebibyte'
      await expectOutcome('About', text, isFine)
    })

    test.each(STORABLE)('an address: %s', async (what, text) => {
      await expectOutcome('TopUpLink', text, what === 'nothing')
    })

    test.each(STORABLE)('a switch: %s', async (what, text) => {
      await expectOutcome('RegisterEnabled', text, what === 'true')
    })
  })

  test.each(['a\u0000b', 'a\ud800b'])('%j is no text: the body is unreadable', async (text) => {
    const before = await stored('About')
    expect(await put('About', text)).toMatchObject({ status: 400, json: { success: false } })
    expect(await stored('About')).toBe(before)
  })

  test.each(WEB_ADDRESSES)('an address: %s', (text, isFine) =>
    expectOutcome('ChatLink', text, isFine),
  )

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
