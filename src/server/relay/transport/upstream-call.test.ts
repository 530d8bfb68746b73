import net from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { Egress } from '../../egress/egress.ts'
import type { FakeUpstream } from '../../../../tools/fake-upstream/fake-upstream.ts'
import { plainCall, useUpstream } from '../../test/use-upstream.ts'
import { failedAttempt } from '../errors/attempt-outcome.ts'
import { mayHaveBeenCharged, verdictOf } from '../errors/verdict.ts'
import { callUpstream, type UpstreamFailure } from './upstream-call.ts'

let upstream: FakeUpstream
let egress: Egress
useUpstream((now) => ({ upstream, egress } = now))

// A timeout of the upstream itself may mean that it is processing the call.
test.each([
  ['timeout', 'unsealed', 504],
  ['unreachable', 'unreachable', 500],
] as const)('without a credential (%s) nobody is asked, and another may be', async (...row) => {
  const [reason, failure, status] = row
  const failed = await new Promise<UpstreamFailure>((resolve) => {
    const request = {
      url: upstream.url,
      method: 'POST' as const,
      headers: {},
      body: null,
      firstByteTimeoutMs: 1000,
      idleTimeoutMs: 1000,
      seal: () => ({ kind: 'failed' as const, reason }),
    }
    callUpstream(egress, request, {
      onHead() {},
      onData() {},
      onEnd() {},
      onFailure: resolve,
    })
  })
  expect(failed).toBe(failure)
  expect(upstream.seen()).toHaveLength(0)
  const outcome = failedAttempt('en', failed)
  expect(mayHaveBeenCharged('images', outcome, {})).toBe(false)
  expect(verdictOf(outcome).retry).toBe(true)
  expect(outcome).toMatchObject({
    kind: 'failed',
    cause: 'network',
    error: { status },
  })
})

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

// The gateway never requests a 100; it is reported as an invalid response, since the HTTP library
// does not read it.
test.each([
  ['HTTP/1.1 102 Processing\r\n\r\n', '200 {}'],
  ['HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n', '200 {}'],
  ['HTTP/1.1 100 Continue\r\n\r\n', 'garbled'],
  ['HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', 'garbled'],
  ['SSH-2.0-x\r\n', 'garbled'],
])('%j before the answer: %s', async (before, expected) => {
  const raw = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(before + ANSWER))
  })
  await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve))
  // A server listening on TCP has an address object.
  const { port } = raw.address() as AddressInfo
  const heard = await new Promise<string>((resolve) => {
    let text = ''
    callUpstream(egress, plainCall('POST', `http://127.0.0.1:${port}/`), {
      onHead: (status) => (text += `${status} `),
      onData: (chunk) => (text += chunk.toString()),
      onEnd: () => resolve(text),
      onFailure: resolve,
    })
  })
  expect(heard).toBe(expected)
  raw.close()
})

test('an invalid response is reported as such, and another channel is tried', () => {
  const outcome = failedAttempt('en', 'garbled')
  expect(verdictOf(outcome).retry).toBe(true)
  expect(outcome).toMatchObject({
    cause: 'network',
    error: { status: 500, message: 'The upstream response cannot be parsed' },
  })
})
