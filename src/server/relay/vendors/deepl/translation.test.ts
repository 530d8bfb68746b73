import { describe, expect, test } from 'vitest'
import { answerIn, readingOf } from '../../../test/read-answer.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { providerOf } from '../registry.ts'
import { languageOf } from './translation.ts'
import { aProviderCall } from '../../../test/provider-call.ts'

/** Responses as in DeepL's API reference, "Translate text". */

test.each([
  ['deepl-zh', 'ZH', null],
  ['deepl-en-gb', 'EN-GB', null],
  ['deepl-zh-hant', 'ZH-HANT', null],
  ['deepl-es-419', 'ES-419', null],
  ['deepl-de-more', 'DE', 'more'],
  ['deepl-pt-br-less', 'PT-BR', 'less'],
  // The operator may choose any prefix before the language.
  ['translator-ja', 'JA', null],
  ['ja', 'JA', null],
])('%s asks for %s, %s', (model, language, formality) => {
  expect(languageOf(model)).toEqual({ language, formality })
})

test.each([
  ['', 'k:fx', 'https://api-free.deepl.com/v2/translate'],
  ['', 'k', 'https://api.deepl.com/v2/translate'],
  ['https://proxy.example', 'k:fx', 'https://proxy.example/v2/translate'],
  ['https://proxy.example/v2', 'k', 'https://proxy.example/v2/translate'],
])('the address of a channel at %j with the key %s', (baseUrl, key, url) => {
  const call = aProviderCall({ model: 'deepl-zh' })
  expect(
    providerOf(38, 'deepl-zh', 'chat')?.url({ type: 38, key, baseUrl, apiVersion: '' }, call),
  ).toBe(url)
  const embedding = { ...call, task: 'embeddings' as const }
  expect(
    providerOf(38, 'deepl-zh', 'chat')?.url({ type: 38, key, baseUrl, apiVersion: '' }, embedding),
  ).toBeNull()
})

describe('responses', () => {
  const { deepl } = upstreamDialects
  const look = (answer: unknown) => readingOf(deepl, answer)
  const translation = (billed?: unknown) => ({
    detected_source_language: 'EN',
    text: 'Hallo, Welt!',
    ...(billed === undefined ? {} : { billed_characters: billed }),
  })

  test('a translation is charged per character', () => {
    const answer = { translations: [translation(13), translation(2)] }
    expect(look(answer)).toMatchObject({ usage: { usage: { promptTokens: 15 } } })
    expect(answerIn(deepl, { translations: [translation()] }).choices).toMatchObject([
      { parts: [{ kind: 'text', text: 'Hallo, Welt!' }], finish: { reason: 'stop' } },
    ])
  })

  test.each([
    [undefined, 'absent'],
    ['13', 'not-integer'],
    [-1, 'out-of-range'],
    [0, 'empty'],
  ])('characters of %j are not believed: %s', (billed, fault) => {
    expect(look({ translations: [translation(billed)] })).toMatchObject({ usage: { fault } })
  })

  test.each<[unknown, string]>([
    [{ message: 'Quota Exceeded' }, 'error'],
    [{ hello: 1 }, 'malformed'],
    ['Hallo', 'malformed'],
  ])('%j is none: %s', (answer, kind) => {
    expect(look(answer).kind).toBe(kind)
  })
})
