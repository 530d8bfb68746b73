import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readOpenaiAnswer } from './openai-answer.ts'

const read = (text: string) => readOpenaiAnswer(Buffer.from(text))
const chat = (content: string, over: object = {}) =>
  JSON.stringify({
    id: 'chatcmpl-fixed',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    ...over,
  })

describe('usage', () => {
  test('is found at the top level for any content', () => {
    const trap = '"usage":{"prompt_tokens":1,"completion_tokens":1},"error":{"message":"x"}'
    const reading = read(chat(trap))
    expect(reading).toMatchObject({
      kind: 'ok',
      usage: { usage: { promptTokens: 11, completionTokens: 7 }, fault: null },
    })
  })

  test('that is missing or invalid has a reason', () => {
    expect(read(chat('x', { usage: undefined }))).toMatchObject({ usage: { fault: 'absent' } })
    expect(read(chat('x', { usage: null }))).toMatchObject({ usage: { fault: 'absent' } })
    expect(read(chat('x', { usage: { prompt_tokens: -1 } }))).toMatchObject({
      usage: { fault: 'out-of-range' },
    })
  })

  test('of an embedding answer', () => {
    const vector = `[${'0.25,'.repeat(2_000)}-1]`
    const text = `{"data":[{"embedding":${vector}}],"usage":{"prompt_tokens":6,"total_tokens":6}}`
    expect(read(text)).toMatchObject({ usage: { usage: { promptTokens: 6, completionTokens: 0 } } })
  })
})

describe('an error with status 200', () => {
  test.each([
    ['{"error":{"message":"no balance"}}'],
    ['{"error":"no balance"}'],
    ['{"object":"error","message":"x","code":1}'],
    ['{"choices":null,"base_resp":{"status_code":1008,"status_msg":"x"}}'],
    ['{"choices":[{"index":0,"error":{"code":502}}],"usage":{"prompt_tokens":1,"total_tokens":1}}'],
    ['{"code":30001,"message":"x","data":null}'],
    ['{"code":500,"msg":"internal","data":{}}'],
    ['{"detail":"model overloaded"}'],
    ['{"detail":[{"loc":["body"],"msg":"x"}]}'],
    ['{"error_code":336503,"error_msg":"quota exceeded"}'],
    ['{"msg":"no permission","success":false}'],
    ['{"errors":[{"message":"x"}]}'],
  ])('%s', (text) => {
    expect(read(text)).toMatchObject({ kind: 'error', error: expect.anything() })
  })

  test('its message is found', () => {
    const error = { message: 'quota exceeded' }
    expect(read('{"error_code":336503,"error_msg":"quota exceeded"}')).toMatchObject({ error })
    expect(read('{"errors":[{"message":"quota exceeded"}]}')).toMatchObject({ error })
  })

  test('an empty error is not an error', () => {
    expect(read(chat('x', { error: null })).kind).toBe('ok')
    expect(read(chat('x', { base_resp: { status_code: 0 } })).kind).toBe('ok')
    expect(read(chat('the word "error"')).kind).toBe('ok')
  })

  test.each([
    '{"choices":[{"index":0,"message":{"role":"assistant","content":null}}],"usage":null}',
    '{"choices": [\n {"text":""}],"code":0,"message":"ok","detail":null,"errors":[]}',
    '{"choices":[{}],"success":true,"detail":"took 3 s"}',
    '{"data":[{"embedding":[1]}],"code":10000,"msg":"success"}',
    '{"id":"x","data":[{"url":"u"}],"base_resp":{"status_code":0}}',
    '{"id":"modr-1","results":[{"flagged":false}]}',
    '{"results":[]}',
  ])('odd, but an answer: %s', (text) => {
    expect(read(text).kind).toBe('ok')
  })

  test.each([
    '{}',
    '{"id":"x","object":"chat.completion","choices":[],"usage":null}',
    '{"choices":[ ],"usage":{"prompt_tokens":9,"completion_tokens":0,"total_tokens":9}}',
    '{"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}',
    '{"data":null}',
  ])('answers nothing: %s', (text) => {
    expect(read(text)).toEqual({ kind: 'malformed' })
  })

  test.each([
    ['chat', '{"code":0,"data":{"page":"console"},"msg":"ok"}'],
    ['chat', '{"data":{"choices":[{"message":{"content":"x"}}]}}'],
    ['completions', '{"results":[]}'],
    ['embeddings', '{"choices":[{"text":"x"}]}'],
    ['embeddings', '{"object":"list","data":[],"usage":null}'],
    ['embeddings', '{"code":0,"data":{"page":"console"},"msg":"ok"}'],
    ['embedContent', '{"data":[ ]}'],
    ['moderations', '{"data":[{"embedding":[1]}]}'],
  ] as const)('has no answer to %s: %s', (task, text) => {
    expect(readOpenaiAnswer(Buffer.from(text), task)).toEqual({ kind: 'malformed' })
  })

  test.each([
    ['chat', '{"choices":[{}],"data":null}'],
    ['embeddings', '{"data":[{"embedding":[1]}]}'],
    ['moderations', '{"results":[]}'],
  ] as const)('has an answer to %s: %s', (task, text) => {
    expect(readOpenaiAnswer(Buffer.from(text), task).kind).toBe('ok')
  })

  test.each([[''], ['<html>'], ['null'], ['[]'], ['{"choices":['], ['{} trailing']])(
    'malformed: %j',
    (text) => {
      expect(read(text)).toEqual({ kind: 'malformed' })
    },
  )
})

const MEMBERS = [
  'error',
  'choices',
  'usage',
  'base_resp',
  'code',
  'msg',
  'detail',
  'errors',
  'data',
]

test('never throws for any bytes or JSON', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 100 }).map((array) => Buffer.from(array)),
    fc.json().map((text) => Buffer.from(text)),
    fc
      .dictionary(fc.constantFrom(...MEMBERS), fc.jsonValue())
      .map((value) => Buffer.from(JSON.stringify(value))),
  )
  fc.assert(
    fc.property(bytes, (sent) => {
      expect(['ok', 'error', 'malformed']).toContain(readOpenaiAnswer(sent).kind)
    }),
    { numRuns: 2_000 },
  )
})
