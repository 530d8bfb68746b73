import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { callAddress, CallFailure, createCalls } from './call-client.ts'

interface ReceivedRequest {
  method: string
  url: string
  language: string | undefined
  type: string | undefined
  body: string
}

let received: ReceivedRequest
let answer: (response: ServerResponse) => void = (response) => response.end()
let reported: CallFailure[] = []
let signedOut: boolean[] = []
let factorsRequired = 0
/** The user's reaction to the request for a proof of identity. */
let prove: () => Promise<boolean> = async () => false

async function listen(request: IncomingMessage, response: ServerResponse) {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  received = {
    method: request.method ?? '',
    url: request.url ?? '',
    language: request.headers['accept-language'],
    type: request.headers['content-type'],
    body: Buffer.concat(chunks).toString(),
  }
  answer(response)
}

const server = createServer((request, response) => void listen(request, response))
let base = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address of this type.
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sub`
})
afterAll(() => server.close())
beforeEach(() => {
  reported = []
  signedOut = []
})

const TIMEOUT_MS = 100
const { call, callWhole, callRaw, callForFile } = createCalls({
  fetch: (address, init) => fetch(address, init),
  base: () => base,
  languageTag: () => 'en',
  timeoutMs: TIMEOUT_MS,
  report: (failure) => reported.push(failure),
  signedOut: (background) => signedOut.push(background),
  prove: () => prove(),
  factorRequired: () => (factorsRequired += 1),
  sentences: {
    unproven: () => 'not proven',
    unreachable: () => 'unreachable',
    unreadable: () => 'unreadable',
    refused: () => 'refused without a word',
    ofStatus: (status) => `our text for ${status}`,
  },
})

const answers = (status: number, body: unknown, headers: Record<string, string> = {}) => {
  answer = (response) => {
    response.writeHead(status, headers)
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

async function failureOf(work: Promise<unknown>): Promise<CallFailure> {
  const failure = await work.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(failure instanceof CallFailure)) throw new Error('the call did not fail as calls do')
  return failure
}

describe('addresses', () => {
  test.each([
    ['GET /api/token/:id', { params: { id: 7 } }, '/api/token/7'],
    ['GET /api/token/:id', { params: { id: 'a/b' } }, '/api/token/a%2Fb'],
    ['GET /api/token/', { query: { p: 0, order: '' } }, '/api/token/?p=0'],
    ['PUT /api/token/?status_only', {}, '/api/token/?status_only=true'],
    ['GET /api/x', { query: { a: undefined, b: '1 &' } }, '/api/x?b=1+%26'],
  ])('%s', (key, input, address) => {
    expect(callAddress(key, input)).toEqual({ method: key.split(' ')[0], address })
  })
})

describe('a proof of identity', () => {
  /** The server refuses the first request, and accepts later ones. */
  const refusesFirst = (status: number) => {
    let count = 0
    answer = (response) => {
      count += 1
      response.writeHead(count === 1 ? status : 200)
      const refused = { success: false, message: 'prove it', code: 'VERIFICATION_REQUIRED' }
      response.end(JSON.stringify(count === 1 ? refused : { success: true, message: '', data: 7 }))
    }
    return () => count
  }

  test.each([200, 403])('the request is sent again after it (HTTP %s)', async (status) => {
    const sent = refusesFirst(status)
    let asked = 0
    prove = async () => {
      asked += 1
      return true
    }
    expect(await call('DELETE /api/channel/disabled')).toBe(7)
    expect([asked, sent(), reported]).toEqual([1, 2, []])
  })

  test('without one the request fails, and was sent once', async () => {
    const sent = refusesFirst(200)
    prove = async () => false
    const failure = await failureOf(call('DELETE /api/channel/disabled'))
    expect(failure).toMatchObject({ message: 'not proven', refused: true })
    expect(sent()).toBe(1)
  })

  test('is not asked for in the background', async () => {
    refusesFirst(200)
    prove = () => Promise.reject(new Error('asked'))
    const failure = await failureOf(call('DELETE /api/channel/disabled', {}, { background: true }))
    expect(failure).toMatchObject({ message: 'prove it' })
  })
})

test('an account that must set up a second factor is led there', async () => {
  answers(200, { success: false, message: 'set it up', code: 'SECOND_FACTOR_REQUIRED' })
  const failure = await failureOf(call('GET /api/token/', { query: { p: 0, order: '' } }))
  // The page says why, so there is no toast.
  expect([failure.message, factorsRequired, reported]).toEqual(['set it up', 1, []])
})

describe('responses', () => {
  test('returns data; sends the request below the base path with the user’s language', async () => {
    answers(200, { success: true, message: '', data: [{ id: 1 }] })
    expect(await call('GET /api/token/', { query: { p: 2, order: 'used_quota' } })).toEqual([
      { id: 1 },
    ])
    expect(received).toMatchObject({ url: '/sub/api/token/?p=2&order=used_quota', language: 'en' })
    expect(received.type).toBeUndefined()
  })

  test('reports a success without the expected data as a failure', async () => {
    for (const body of [
      { success: true, message: '' },
      { success: true, message: '', data: null },
    ]) {
      answers(200, body)
      const failure = await failureOf(call('GET /api/token/', { query: { p: 0, order: '' } }))
      expect(failure.message).not.toBe('')
      expect(failure).toMatchObject({ refused: false })
    }
    answers(200, { success: true, message: '' })
    expect(await call('DELETE /api/token/:id', { params: { id: 7 } })).toBeUndefined()
  })

  test('sends a body as JSON', async () => {
    answers(200, { success: true, message: '', data: {} })
    await call('PUT /api/token/?status_only', { body: { id: 3, status: 2 } })
    expect(received).toMatchObject({
      method: 'PUT',
      url: '/sub/api/token/?status_only=true',
      type: 'application/json',
      body: '{"id":3,"status":2}',
    })
  })

  test('returns members beside the data, and the total if the server sends it', async () => {
    answers(200, { success: true, message: 'hi', time: 0.5 }, { 'X-Total-Count': '34' })
    expect(await callWhole('GET /api/user/logout')).toMatchObject({
      message: 'hi',
      time: 0.5,
      total: 34,
      data: undefined,
    })
    answers(200, { success: true, message: '' })
    expect(await callWhole('GET /api/user/logout')).toMatchObject({ total: null })
  })

  test('returns responses without an envelope, and files', async () => {
    answers(200, { object: 'list', data: [] })
    expect(await callRaw('GET /api/channel/models')).toEqual({ object: 'list', data: [] })
    answers(200, 'body')
    const file = callForFile as (key: string) => Promise<Blob>
    expect(await (await file('GET /api/log/export/')).text()).toBe('body')
    answers(200, 'body')
    const seen: number[] = []
    const counted = callForFile as (key: string, input: {}, options: object) => Promise<Blob>
    const onBytes = (bytes: number) => seen.push(bytes)
    expect(await (await counted('GET /api/log/export/', {}, { onBytes })).text()).toBe('body')
    expect(seen.at(-1)).toBe(4)
  })
})

describe('failures', () => {
  test('an error has the server’s message and data', async () => {
    answers(200, { success: false, message: '令牌名称过长', data: ['code'] })
    const failure = await failureOf(call('GET /api/user/self'))
    expect(failure).toMatchObject({ message: '令牌名称过长', refused: true, data: ['code'] })
    expect(reported).toEqual([failure])
  })

  test('an ended session signs out without a toast', async () => {
    answers(401, { success: false, message: 'no' })
    expect((await failureOf(call('GET /api/user/self'))).status).toBe(401)
    await failureOf(call('GET /api/user/self', {}, { background: true }))
    expect(signedOut).toEqual([false, true])
    expect(reported).toEqual([])
  })

  test.each([
    [429, '', 'our text for 429'],
    // The page shows the same message as the toast, regardless of the server's message.
    [500, { success: false, message: '内部错误' }, 'our text for 500'],
    [502, '<html>bad gateway</html>', 'our text for 502'],
  ])('status %i', async (status, body, message) => {
    answers(status, body)
    expect(await failureOf(call('GET /api/user/self'))).toMatchObject({ status, message })
    expect(reported).toHaveLength(1)
  })

  test.each([
    [200, { success: false, message: 'no' }, false],
    [200, '<html>', true],
    [403, '', false],
    [429, '', false],
    [504, '', true],
  ])('status %i %j: may have been carried out', async (status, body, isUncertain) => {
    answers(status, body)
    expect(await failureOf(call('GET /api/user/self'))).toMatchObject({ isUncertain })
  })

  test.each([{ success: false }, { success: false, message: ' ' }])(
    'an error without a message gets one: %j',
    async (refusal) => {
      answers(200, refusal)
      const file = callForFile as (key: string) => Promise<Blob>
      for (const work of [call('GET /api/user/self'), file('GET /api/log/export/')]) {
        expect(await failureOf(work)).toMatchObject({
          message: 'refused without a word',
          refused: true,
        })
      }
    },
  )

  test('an error response to a file request is not returned as a file', async () => {
    answers(200, { success: false, message: '导出已关闭' })
    const file = callForFile as (key: string) => Promise<Blob>
    const failure = await failureOf(file('GET /api/log/export/'))
    expect(failure).toMatchObject({ message: '导出已关闭', refused: true })
    expect(reported).toEqual([failure])
  })

  test('a background request fails without a toast', async () => {
    answers(500, '')
    await failureOf(call('GET /api/user/self', {}, { background: true }))
    expect(reported).toEqual([])
  })

  test('a response that is not an envelope is a failure', async () => {
    answers(200, '<html>')
    expect(await failureOf(call('GET /api/user/self'))).toMatchObject({ message: 'unreadable' })
  })

  test('a missing response is a failure', async () => {
    answer = (response) => response.destroy()
    expect(await failureOf(call('GET /api/user/self'))).toMatchObject({
      message: 'unreachable',
      status: 0,
      isUncertain: true,
    })
  })

  test('a response that ends early is reported like a missing one', async () => {
    answer = (response) => {
      response.writeHead(200, { 'Content-Length': '200' })
      response.write('{"success":true,"mess')
      setTimeout(() => response.destroy(), 50)
    }
    const file = callForFile as (key: string) => Promise<Blob>
    for (const ask of [
      () => call('GET /api/user/self'),
      () => callRaw('GET /api/channel/models'),
      () => file('GET /api/log/export/'),
    ]) {
      const failure = await failureOf(ask())
      expect(failure).toMatchObject({ message: 'unreachable', status: 0 })
      expect(reported.at(-1)).toBe(failure)
    }
  })

  test('a raw response that is not JSON is a failure', async () => {
    answers(200, '<html>')
    expect(await failureOf(callRaw('GET /api/channel/models'))).toMatchObject({
      message: 'unreadable',
    })
  })

  test('only requests that read page data have a timeout', async () => {
    const begun = (response: ServerResponse) => response.write('{"success":')
    const { signal } = new AbortController()
    for (const silence of [() => {}, begun]) {
      answer = silence
      for (const ask of [
        () => call('GET /api/user/self', {}, { signal }),
        () => callRaw('GET /api/channel/models', {}, { signal }),
      ]) {
        const failure = await failureOf(ask())
        expect(failure).toMatchObject({ message: 'unreachable', status: 0 })
        expect(reported.at(-1)).toBe(failure)
      }
    }
    answer = (response) => {
      begun(response)
      setTimeout(() => response.end('true,"message":"","data":{}}'), 3 * TIMEOUT_MS)
    }
    const file = callForFile as (key: string, input: {}, options: {}) => Promise<Blob>
    await file('GET /api/log/export/', {}, { signal })
    await call('GET /api/user/self')
  })

  test('an aborted request is not reported', async () => {
    answer = () => {}
    const nobody = AbortSignal.abort()
    await expect(call('GET /api/user/self', {}, { signal: nobody })).rejects.toThrow(/abort/i)
    expect(reported).toEqual([])
  })
})
