import { afterAll, beforeAll, beforeEach } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { createEgress, type Egress } from '../egress/egress.ts'

/**
 * An upstream and a way out to it for the tests around this call, without a relay between them.
 * `keep` is told both, and each test begins with an upstream that has seen nothing.
 */
export function useUpstream(keep: (now: { upstream: FakeUpstream; egress: Egress }) => void): void {
  let upstream: FakeUpstream
  let egress: Egress
  beforeAll(async () => {
    upstream = await startFakeUpstream()
    egress = createEgress({ allowPrivate: true })
    keep({ upstream, egress })
  })
  beforeEach(() => void upstream.seen())
  afterAll(async () => {
    await egress.close()
    await upstream.close()
  })
}
