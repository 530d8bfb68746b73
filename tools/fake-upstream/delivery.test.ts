import { createParser } from 'eventsource-parser'
import zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gzipBomb } from './bomb.ts'
import { startFakeUpstream, type FakeUpstream } from './fake-upstream.ts'
import { startFastUpstream } from './fast-upstream.ts'

let upstream: FakeUpstream
beforeAll(async () => {
  upstream = await startFakeUpstream()
})
afterAll(() => upstream.close())

const answer = 'The answer is forty-two.'
const url = (base: string) => `${base}/v1/chat/completions`

function stream(model: string, more: Record<string, unknown> = {}): Promise<Response> {
  const body = JSON.stringify({ model, messages: [], stream: true, ...more })
  return fetch(url(upstream.url), { method: 'POST', body })
}

/** Reads a stream: raw text, events, and the chunks in which it arrived. */
async function read(response: Response) {
  const parts: Uint8Array[] = []
  for await (const part of response.body ?? []) parts.push(part)
  const raw = Buffer.concat(parts)
  const data: string[] = []
  const comments: string[] = []
  const parser = createParser({
    onEvent: (event) => data.push(event.data),
    onComment: (text) => comments.push(text),
  })
  // The parser leaves decoding, and so the byte order mark, to the reader.
  parser.feed(new TextDecoder().decode(raw))
  parser.reset({ consume: true })
  const chunks = data.filter((text) => text !== '[DONE]').map((text) => JSON.parse(text))
  const text = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('')
  return { parts, raw, chunks, comments, text }
}

describe('framing of streams', () => {
  test.each([
    ['crlf', '\r\n\r\n'],
    ['cr', '\r\r'],
    ['no-space', 'data:{'],
    ['multi-line-data', '\ndata:  "id"'],
    ['comment-keepalive', ': UPSTREAM PROCESSING\n\n'],
  ])('%s: carries the same text', async (model, sign) => {
    const got = await read(await stream(model))
    expect(got.raw.toString()).toContain(sign)
    expect(got.text).toBe(answer)
  })

  test('bom and no-final-newline: only the ends change', async () => {
    const bom = await read(await stream('bom'))
    expect([...bom.raw.subarray(0, 4)]).toEqual([0xef, 0xbb, 0xbf, 'd'.charCodeAt(0)])
    expect(bom.text).toBe(answer)
    const open = await read(await stream('no-final-newline'))
    expect(open.raw.toString().endsWith('data: [DONE]')).toBe(true)
  })

  test('split-utf8: reads end within code points', async () => {
    const got = await read(await stream('split-utf8'))
    expect(got.text).toBe('答案是四十二 🎉 naïve。')
    const strict = new TextDecoder('utf-8', { fatal: true })
    const isWhole = (part: Uint8Array) => {
      try {
        strict.decode(part)
        return true
      } catch {
        return false
      }
    }
    expect(got.parts.some((part) => !isWhole(part))).toBe(true)
  })

  test('one-byte, big-line-<bytes>: any size of write', async () => {
    expect((await read(await stream('one-byte+chunks-1'))).text).toBe('word')
    expect((await read(await stream('big-line-300000'))).text).toHaveLength(300_000)
  })

  test('chunks-<n>, slow-chunk-<ms>, stamp: paced and timed', async () => {
    const startMs = performance.now()
    const response = await stream('chunks-4+slow-chunk-60+stamp')
    const got = await read(response)
    expect(performance.now() - startMs).toBeGreaterThan(250)
    const times = got.chunks.slice(1, 5).map((chunk) => Number(chunk.choices[0].delta.content))
    for (const [index, timeUs] of times.entries()) {
      if (index > 0) expect(timeUs).toBeGreaterThan(times[index - 1] ?? 0)
    }
    // Three pauses, of which a stall of this process may shorten one.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(90_000)
    const early = performance.now()
    await (await stream('slow-60')).text()
    expect(performance.now() - early).toBeGreaterThan(55)
  })

  test('usage-in-last-choice-chunk: usage beside the finish reason', async () => {
    const { chunks } = await read(await stream('usage-in-last-choice-chunk'))
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
      usage: { total_tokens: 18 },
    })
  })
})

describe('content', () => {
  test.each([
    ['usage-negative', -11],
    ['usage-string', '11'],
    ['usage-huge', 1e308],
    ['usage-nan', 'NaN'],
    ['usage-fraction', 11.5],
    ['usage-missing', undefined],
  ])('%s: prompt_tokens is %s', async (model, promptTokens) => {
    const response = await stream(model, { stream: false })
    const body: { usage?: { prompt_tokens: unknown } } = JSON.parse(await response.text())
    expect(body.usage?.prompt_tokens).toBe(promptTokens)
  })

  test('echo: the received body, byte for byte', async () => {
    const body = '{"model":"echo",  "x":2.50, "y":1e-7,"z":12345678901234567890, "é":"\\u00e9"}'
    const response = await fetch(url(upstream.url), { method: 'POST', body })
    const got = JSON.parse(await response.text())
    expect(got.choices[0].message.content).toBe(body)
  })

  test('gzip: compressed, plain and streamed', async () => {
    const plain = await stream('gzip', { stream: false })
    expect(plain.headers.get('content-encoding')).toBe('gzip')
    expect(await plain.text()).toContain(answer)
    expect((await read(await stream('gzip'))).text).toBe(answer)
  })

  test('bomb: a valid file far larger than its transfer size', () => {
    const packed = gzipBomb({ before: '{"a":"', after: '"}' }, 8)
    expect(packed.length).toBeLessThan(20_000)
    const unpacked = JSON.parse(zlib.gunzipSync(packed).toString())
    expect(unpacked.a).toHaveLength(8 * 1024 * 1024)
  })
})

test('the fast upstream responds and streams like the full one, and counts', async () => {
  const fast = await startFastUpstream()
  const ask = async (base: string, more: Record<string, unknown>) => {
    const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [], ...more })
    const response = await fetch(url(base), { method: 'POST', body })
    return { type: response.headers.get('content-type'), text: await response.text() }
  }
  const withUsage = { stream: true, stream_options: { include_usage: true } }
  for (const more of [{}, { stream: true }, withUsage]) {
    expect(await ask(fast.url, more)).toEqual(await ask(upstream.url, more))
  }
  const count = await (await fetch(`${fast.url}/__count`)).json()
  expect(count).toEqual({ answered: 3 })
  await fast.close()
})
