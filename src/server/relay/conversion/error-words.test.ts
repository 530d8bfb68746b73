import { describe, expect, test } from 'vitest'
import { upstreamDialects } from '../../test/upstream-dialects.ts'
import { hiddenStatus } from '../errors/upstream-error.ts'
import { upstreamError } from '../errors/upstream-error.ts'
import type { RelayError } from '../protocols/dialect/relay-error.ts'
import { dialects } from './dialects.ts'

const errorOf = (status: number): RelayError => ({
  status,
  message: 'Went wrong',
  type: 'one_api_error',
  param: '',
  code: 'some_code',
})
const told = (name: keyof typeof dialects, status: number): unknown =>
  JSON.parse(dialects[name].errorBody(errorOf(status), 'id-1'))
const message = 'Went wrong (request id: id-1)'

describe('an error is written', () => {
  test('in full to clients of OpenAI', () => {
    expect(told('openai', 400)).toEqual({
      error: { message, type: 'one_api_error', param: '', code: 'some_code' },
    })
  })

  test.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [402, 'billing_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [422, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [502, 'api_error'],
    [504, 'timeout_error'],
    [529, 'overloaded_error'],
  ])('of status %i to clients of Anthropic as %s', (status, type) => {
    expect(told('anthropic', status)).toEqual({
      type: 'error',
      error: { type, message },
      request_id: 'id-1',
    })
  })

  test.each([
    [400, 'INVALID_ARGUMENT'],
    [401, 'UNAUTHENTICATED'],
    [403, 'PERMISSION_DENIED'],
    [404, 'NOT_FOUND'],
    [413, 'INVALID_ARGUMENT'],
    [429, 'RESOURCE_EXHAUSTED'],
    [500, 'INTERNAL'],
    [501, 'UNIMPLEMENTED'],
    [503, 'UNAVAILABLE'],
    [504, 'DEADLINE_EXCEEDED'],
  ])('of status %i to clients of Gemini as %s', (code, status) => {
    expect(told('gemini', code)).toEqual({ error: { code, message, status } })
  })

  test('with its details for clients that support them', () => {
    const ofAnthropic = { error_code: 'thread_not_found' }
    const ofGemini = [{ '@type': 'google.rpc.RetryInfo', retryDelay: '7s' }]
    const toldWith = (name: keyof typeof dialects, details: unknown): unknown =>
      JSON.parse(dialects[name].errorBody({ ...errorOf(404), details }, 'id-1'))
    expect(toldWith('anthropic', ofAnthropic)).toHaveProperty('error.details', ofAnthropic)
    expect(toldWith('gemini', ofGemini)).toHaveProperty('error.details', ofGemini)
    for (const [name, details] of [
      ['anthropic', ofGemini],
      ['gemini', ofAnthropic],
      ['openai', ofAnthropic],
    ] as const) {
      expect(toldWith(name, details)).not.toHaveProperty('error.details')
    }
  })
})

const CHANNEL = { type: 1, key: 'secret-key', baseUrl: '' }

describe('an upstream’s error is read', () => {
  const read = (status: number, body: unknown) =>
    upstreamError({ status, body: Buffer.from(JSON.stringify(body)) }, 'en', CHANNEL)
  const gemini = (over: object) => ({ error: { code: 400, message: 'No.', ...over } })

  test('of Anthropic', () => {
    const said = { type: 'invalid_request_error', message: 'max_tokens: secret-key' }
    expect(read(400, { type: 'error', error: said })).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: 'max_tokens: ***',
    })
  })

  test('of Gemini, also in a list', () => {
    const refusal = gemini({ status: 'INVALID_ARGUMENT' })
    for (const body of [refusal, [refusal]]) {
      expect(read(400, body)).toMatchObject({
        status: 400,
        type: 'INVALID_ARGUMENT',
        message: 'No.',
      })
    }
  })

  test('of Gemini about the key or the account, which the client did not cause', () => {
    const details = [{ '@type': 'google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
    expect(read(400, gemini({ status: 'INVALID_ARGUMENT', details })).status).toBe(401)
    expect(read(400, gemini({ status: 'FAILED_PRECONDITION' })).status).toBe(403)
  })

  test('with its details, cleaned at all levels', () => {
    const details = {
      error_code: 'organization_on_hold',
      appeal_url: 'https://inner.example/x',
      deep: [{ 'by secret-key': ['secret-key', 7, null] }],
    }
    const said = { type: 'invalid_request_error', message: 'No.', details }
    expect(read(400, { type: 'error', error: said }).details).toEqual({
      error_code: 'organization_on_hold',
      appeal_url: '***',
      deep: [{ 'by ***': ['***', 7, null] }],
    })
    const metadata = {
      consumer: 'projects/123456',
      said: 'no for project_number:123456, or project:own-name',
      quota_limit: 'PerDay',
    }
    const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo' }
    expect(read(403, gemini({ details: [{ ...info, metadata }] })).details).toEqual([
      {
        ...info,
        metadata: {
          consumer: 'projects/***',
          said: 'no for project_number:***, or project:***',
          quota_limit: 'PerDay',
        },
      },
    ])
  })

  test('without details of unknown format, excessive length or depth', () => {
    const error_code = 'some_code'
    let deep: unknown = 'x'
    for (let level = 0; level < 2000; level += 1) deep = [deep]
    for (const details of ['text', { stack: 'x' }, ['text'], { error_code, x: 'y'.repeat(4000) }]) {
      expect(read(400, { error: { message: 'No.', details } }).details).toBeUndefined()
    }
    const { details } = read(400, { error: { details: { error_code, deep } } })
    expect(JSON.stringify(details).length).toBeLessThan(100)
  })

  test.each([
    ['34s', '34'],
    ['34.074824224s', '35'],
    ['soon', undefined],
    [34, undefined],
  ])('of Gemini, with the time that it names: %s', (retryDelay, seconds) => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.Help' },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
    ]
    expect(read(429, gemini({ details })).retryAfter).toBe(seconds)
  })
})

test.each<[unknown, 'openai' | 'anthropic' | 'gemini', number]>([
  [{ type: 'overloaded_error' }, 'anthropic', 529],
  [{ type: 'rate_limit_error' }, 'anthropic', 429],
  [{ type: 'unheard_of' }, 'anthropic', 502],
  [{ code: 503, status: 'UNAVAILABLE' }, 'gemini', 503],
  [{ code: 200 }, 'gemini', 502],
  [{ type: 'rate_limit_error' }, 'openai', 502],
  // OpenRouter and vLLM state the status.
  [{ code: 429, message: 'Rate limited' }, 'openai', 429],
  [{ code: 402 }, 'openai', 402],
  // MiniMax, Spark and SiliconFlow have their own numbers.
  [{ status_code: 1002, status_msg: 'rate limit' }, 'openai', 429],
  [{ status_code: 1004 }, 'openai', 401],
  [{ status_code: 1008 }, 'openai', 402],
  [{ status_code: 2013 }, 'openai', 400],
  [{ status_code: 1000 }, 'openai', 502],
  [{ code: 10_013, message: 'audit' }, 'openai', 400],
  [{ code: '11202' }, 'openai', 429],
  [{ code: 20_012, message: 'Model does not exist' }, 'openai', 404],
  // Groq has the status in another member.
  [{ type: 'invalid_request_error', code: 'tool_use_failed', status_code: 400 }, 'openai', 400],
  [{ type: 'invalid_request_error', status_code: 503 }, 'openai', 503],
  // OpenAI uses `invalid_request_error` for more than invalid requests.
  [{ type: 'invalid_request_error' }, 'openai', 400],
  [{ type: 'invalid_request_error', code: 'invalid_api_key' }, 'openai', 401],
  [{ type: 'invalid_request_error', code: 'model_not_found' }, 'openai', 404],
  [{ code: 'rate_limit_exceeded' }, 'openai', 502],
  ['text', 'openai', 502],
])('an error %j inside a good answer of %s has the status %i', (error, name, status) => {
  expect(hiddenStatus(error, upstreamDialects[name])).toBe(status)
})
