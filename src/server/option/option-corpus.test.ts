import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WEB_ADDRESSES } from '../test/corpora/addresses.ts'
import { RATIO_TEXTS } from '../test/corpora/ratio-texts.ts'
import { STORED_TEXTS, TEXTS, textsAround, UNREADABLE_TEXTS } from '../test/corpora/texts.ts'
import { expectPlainSentences } from '../test/expect-plain-answer.ts'
import { anAdmin, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import type { OptionKey } from '../../contract/option/options.ts'
import { optionSpec } from './option.ts'

/**
 * Hostile values: every value is accepted, or rejected with one message in each language; a
 * rejection changes nothing.
 */

/** Around the longest line. */
const LINES = textsAround(2048)
/** Whether a text is a valid line: without line breaks and not too long. */
const isLine = (what: string): boolean =>
  !UNREADABLE_TEXTS.has(what) && !['64 KiB', 'a mebibyte'].includes(what)
/** Half a character and the character 0 are in no text; that is tested by itself. */
const STORABLE = STORED_TEXTS.filter(
  ([what]) => !['half a character', 'the character 0'].includes(what),
)

const WHOLE_NUMBERS: readonly (readonly [text: string, isFine: boolean])[] = [
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
  ].map((text) => [text, false] as const),
]

describe('values that an option accepts', () => {
  /**
   * Returns whether the option accepts the value; a rejection must have one message in each
   * language.
   */
  function takes(key: OptionKey, value: string): boolean {
    const problem = optionSpec(key).check(value)
    if (problem !== null) expectPlainSentences(problem.zh, problem.en)
    return problem === null
  }
  const expectTaken = (key: OptionKey) => (_what: string, text: string, isFine: boolean) =>
    expect(takes(key, text)).toBe(isFine)
  const texts = (isFine: (what: string) => boolean) =>
    TEXTS.map(([what, text]) => [what, text, isFine(what)] as const)

  test.each(['ModelRatio', 'CompletionRatio', 'GroupRatio'] as const)('%s', (key) =>
    forEachValue(
      // Without a group no user could call.
      RATIO_TEXTS.filter(([, text]) => key !== 'GroupRatio' || !['{}', ''].includes(text)),
      expectTaken(key),
    ),
  )

  test('a single line', async () => {
    await forEachValue(texts(isLine), expectTaken('SystemName'))
    await forEachValue(LINES, expectTaken('SystemName'))
  })

  test('a long text', () =>
    forEachValue(
      texts((what) => !['a mebibyte', 'half a character', 'the character 0'].includes(what)),
      expectTaken('About'),
    ))

  test('an address', async () => {
    await forEachValue(
      texts((what) => what === 'nothing'),
      expectTaken('TopUpLink'),
    )
    await forEachValue(WEB_ADDRESSES, (text, isFine) =>
      expect(takes('ChatLink', text)).toBe(isFine),
    )
  })

  test('a switch', () =>
    forEachValue(
      texts((what) => what === 'true'),
      expectTaken('RegisterEnabled'),
    ))

  test('a whole number', () =>
    forEachValue(WHOLE_NUMBERS, (text, isFine) =>
      expect(takes('QuotaForNewUser', text)).toBe(isFine),
    ))
})

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
    // One sentence for every value.
    for (const { message } of [answer, english]) expect(message.length).toBeLessThan(400)
  }

  test.each(['ModelRatio', 'CompletionRatio', 'GroupRatio'] as const)(
    'the refusal says that it is %s',
    async (key) => {
      expect((await put(key, '{')).message).toContain(key)
    },
  )

  test('ratios are stored as they were written', () =>
    forEachValue(RATIO_TEXTS, (_what, text, isFine) => expectOutcome('ModelRatio', text, isFine)))

  test('texts are stored as they were written, or not at all', () =>
    forEachValue(STORABLE, async (what, text) => {
      await expectOutcome('SystemName', text, isLine(what))
      await expectOutcome('About', text, what !== 'a mebibyte')
    }))

  test('one option of each other kind reports the problem', async () => {
    await expectOutcome('TopUpLink', 'javascript:alert(1)', false)
    await expectOutcome('ChatLink', 'https://ok.example', true)
    await expectOutcome('RegisterEnabled', 'yes', false)
    await expectOutcome('QuotaForNewUser', '9007199254740993', false)
    await expectOutcome('QuotaForNewUser', '1125899906842624', true)
  })

  test.each(['a\u0000b', 'a\ud800b'])('%j cannot be stored: the body is rejected', async (text) => {
    const before = await stored('About')
    expect(await put('About', text)).toMatchObject({ status: 400, json: { success: false } })
    expect(await stored('About')).toBe(before)
  })
})
