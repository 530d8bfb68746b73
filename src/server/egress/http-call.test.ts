import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEgress, type Egress } from './egress.ts'
import { callHttp, HttpCallFailed, jsonMembers, type HttpCall } from './http-call.ts'

let server: http.Server
let base: string
let egress: Egress
const asked: { method: string; url: string; body: string; header: string }[] = []
beforeAll(async () => {
  server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      asked.push({ method, url, body, header: String(headers['x-own']) })
      if (url === '/moved') return response.writeHead(302, { location: '/landed' }).end('moved')
      if (url === '/huge') return response.end('x'.repeat(5000))
      if (url === '/cut') return response.writeHead(200, { 'content-length': '9' }).destroy()
      // The slow response never ends.
      if (url === '/slow') return response.write('a')
      return response.writeHead(url === '/fault' ? 500 : 200).end('言')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address object.
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  egress = createEgress({ allowPrivate: true })
})
afterAll(async () => {
  await egress.close()
  server.closeAllConnections()
  server.close()
})

const call = (path: string, over: Partial<HttpCall> = {}) =>
  callHttp(egress, { url: base + path, method: 'GET', timeoutMs: 60_000, bytesMax: 1000, ...over })
const reasonOf = async (answer: Promise<unknown>): Promise<string> => {
  const error = await answer.catch((thrown: unknown) => thrown)
  return error instanceof HttpCallFailed ? error.reason : 'answered'
}

test('sends method, headers and body, and returns status and text', async () => {
  const answer = await call('/x', { method: 'POST', headers: { 'x-own': 'h' }, body: 'b=1' })
  expect(answer).toMatchObject({ status: 200, text: '言' })
  expect(asked.at(-1)).toEqual({ method: 'POST', url: '/x', body: 'b=1', header: 'h' })
})

test('returns errors and redirects as responses, without following them', async () => {
  expect(await call('/fault')).toMatchObject({ status: 500 })
  expect(await call('/moved')).toMatchObject({ status: 302, text: 'moved' })
  expect(asked.map(({ url }) => url)).not.toContain('/landed')
})

test.each([
  ['/huge', {}, 'too_large'],
  ['/slow', { timeoutMs: 100 }, 'timeout'],
  ['/cut', {}, 'unreachable'],
  ['', { url: 'http://nowhere.invalid/' }, 'unreachable'],
  ['', { url: 'http://169.254.169.254/latest' }, 'refused'],
  ['', { url: 'no address' }, 'unreachable'],
])('%s %j: %s', async (path, over, reason) => {
  expect(await reasonOf(call(path, over))).toBe(reason)
})

test('private addresses require the operator’s permission', async () => {
  const strict = createEgress({ allowPrivate: false })
  for (const url of [base, base.replace('127.0.0.1', 'localhost')]) {
    const answer = callHttp(strict, { url, method: 'GET', timeoutMs: 60_000, bytesMax: 10 })
    expect(await reasonOf(answer)).toBe('refused')
  }
  await strict.close()
})

test.each([
  ['{"a":1}', { a: 1 }],
  ['[1]', null],
  ['null', null],
  ['"a"', null],
  ['{', null],
  ['', null],
])('the members of %s', (text, members) => {
  expect(jsonMembers(text)).toEqual(members)
})
