import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { startFastUpstream } from '../tools/fake-upstream/fast-upstream.ts'
import { driveLoad, quantile } from './load.ts'
import { createResponseReader, requestBytes, type RawResponse } from './raw-http.ts'
import { markdownTable, median, withSpread } from './report.ts'
import { runStreams } from './stream-clients.ts'

let upstream: FakeUpstream
beforeAll(async () => {
  upstream = await startFakeUpstream()
})
afterAll(() => upstream.close())

const path = '/v1/chat/completions'
const options = {
  headers: { authorization: 'Bearer sk-x' },
  body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
  connections: 4,
  warmupSeconds: 0.05,
  seconds: 1,
  expect: 'forty-two',
}

describe('the response reader', () => {
  const wire = Buffer.from(
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello' +
      'HTTP/1.1 429 Too Many\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n' +
      'HTTP/1.1 204 No Content\r\nx: y\r\n\r\n',
  )
  const read = (parts: Buffer[]) => {
    const found: RawResponse[] = []
    const reader = createResponseReader((response) => found.push(response))
    for (const part of parts) reader(part)
    return found.map(({ status, head, body }) => [status, head.split('\r\n')[0], body.toString()])
  }

  test('finds the same responses wherever the reads end', () => {
    const whole = read([wire])
    expect(whole.map(([status]) => status)).toEqual([200, 429, 204])
    expect(whole[0]?.[2]).toBe('hello')
    for (let at = 1; at < wire.length; at++) {
      expect(read([wire.subarray(0, at), wire.subarray(at)])).toEqual(whole)
    }
    expect(read(Array.from(wire, (byte) => Buffer.from([byte])))).toEqual(whole)
  })
})

describe('the load', () => {
  test('counts exactly the calls that the upstream served', async () => {
    const fast = await startFastUpstream()
    const result = await driveLoad({ ...options, url: fast.url + path })
    expect(result.failed).toBe(0)
    expect(result.answered).toBe(fast.answered())
    expect(result.perSecond).toBeGreaterThan(10)
    expect(result.p50Ms).toBeLessThanOrEqual(result.p99Ms)
    await fast.close()
  })

  test('reports wrong responses and cut connections, and continues', async () => {
    const wrong = await driveLoad({ ...options, url: `${upstream.url}/~fail-503${path}` })
    expect(wrong).toMatchObject({ answered: 0, perSecond: 0 })
    expect(wrong.firstFailure).toContain('503')
    const cut = await driveLoad({ ...options, url: `${upstream.url}/~fail-cut${path}` })
    expect(cut.failed).toBeGreaterThan(4)
    expect(cut.firstFailure).toBe('the connection ended')
  })
})

test('the stream clients keep streams open and measure the age of their chunks', async () => {
  const words = '~slow-chunk-30+chunks-40+stamp'
  const body = JSON.stringify({ model: 'gpt-4o-mini', stream: true })
  const streams = { url: `${upstream.url}/${words}${path}`, headers: {}, body, streams: 20 }
  const result = await runStreams({ ...streams, opensPerSecond: 1000 }, null)
  expect(result).toMatchObject({ complete: 20, broken: 0, concurrent: 20 })
  expect(result.chunks).toBeGreaterThan(20)
  // Microseconds would be many more.
  expect(result.p50Ms).toBeLessThan(10_000)
  const refused = { ...streams, url: `${upstream.url}/~fail-500${path}`, opensPerSecond: 1000 }
  const broken = await runStreams(refused, null)
  expect(broken).toMatchObject({ complete: 0, broken: 20 })
  expect(broken.firstFailure).toContain('500')
})

test('a request is valid HTTP', () => {
  const request = { path: '/x', headers: { a: 'b' }, body: 'é' }
  expect(requestBytes(new URL('http://h:1'), request).toString()).toBe(
    'POST /x HTTP/1.1\r\nhost: h:1\r\na: b\r\ncontent-length: 2\r\n\r\né',
  )
})

test('figures: medians, quantiles, spread, tables', () => {
  expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([])]).toEqual([2, 2.5, 0])
  const sorted = Array.from({ length: 100 }, (_, index) => index)
  expect([quantile(sorted, 0.5), quantile(sorted, 0.99), quantile(sorted, 1)]).toEqual([50, 99, 99])
  expect(withSpread([900, 1000, 1200])).toBe('1,000 (-10 … +20 %)')
  expect(markdownTable({ columns: ['a', 'bb'], rows: [['ccc', 'd']] })).toBe(
    '| a   | bb |\n| --- | -- |\n| ccc | d  |',
  )
})
