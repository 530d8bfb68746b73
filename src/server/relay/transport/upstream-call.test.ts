import { expect, test } from 'vitest'
import type { Egress } from '../../egress/egress.ts'
import type { FakeUpstream } from '../../../../tools/fake-upstream/fake-upstream.ts'
import { useUpstream } from '../../test/use-upstream.ts'
import { failedAttempt, mayBeMade } from '../attempt.ts'
import { callUpstream, type UpstreamFailure } from './upstream-call.ts'

let upstream: FakeUpstream
let egress: Egress
useUpstream((now) => ({ upstream, egress } = now))

// A timeout of the upstream itself may mean that it is at work.
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
  expect(mayBeMade('images', outcome, {})).toBe(false)
  expect(outcome).toMatchObject({
    kind: 'failed',
    mayRetry: true,
    cause: 'network',
    error: { status },
  })
})
