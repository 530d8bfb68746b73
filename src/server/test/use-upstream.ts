import { afterAll, beforeAll, beforeEach } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { createEgress, type Egress } from '../egress/egress.ts'
import { callUpstream, type UpstreamRequest } from '../relay/transport/upstream-call.ts'
import { startScriptedUpstream, type ScriptedUpstream } from './relay-setup.ts'

/**
 * Starts an upstream and an egress for the surrounding tests, without a relay between them. Passes
 * both to `keep`, and each test begins with an upstream without requests.
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

/**
 * Starts an upstream that runs a script. `asked` receives each request as `GET /path` and is empty
 * when a test begins.
 */
export function useScriptedUpstream(
  script: Parameters<typeof startScriptedUpstream>[0],
  keep: (now: { upstream: ScriptedUpstream; egress: Egress; asked: string[] }) => void,
): void {
  const asked: string[] = []
  let upstream: ScriptedUpstream
  let egress: Egress
  beforeAll(async () => {
    upstream = await startScriptedUpstream((request, response, body) => {
      asked.push(`${request.method} ${request.url}`)
      script(request, response, body)
    })
    egress = createEgress({ allowPrivate: true })
    keep({ upstream, egress, asked })
  })
  beforeEach(() => {
    asked.length = 0
  })
  afterAll(async () => {
    await egress.close()
    await upstream.close()
  })
}

/** Returns a request without a body and with long timeouts. */
export const plainCall = (method: UpstreamRequest['method'], url: string): UpstreamRequest => ({
  url,
  method,
  headers: {},
  body: null,
  firstByteTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
})

/** Returns how a call ends, `end` or its failure, if its listener throws at the first bytes. */
export function endOfStumbling(egress: Egress, request: UpstreamRequest): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  callUpstream(egress, request, {
    onHead() {},
    onData() {
      throw new Error('a listener that stumbles')
    },
    onEnd: () => resolve('end'),
    onFailure: (failure) => resolve(failure),
  })
  return promise
}
