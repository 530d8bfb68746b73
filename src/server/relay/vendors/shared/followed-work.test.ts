import { describe, expect, test } from 'vitest'
import type { Egress } from '../../../egress/egress.ts'
import { eventually, type ScriptedUpstream } from '../../../test/relay-setup.ts'
import { plainCall, useScriptedUpstream } from '../../../test/use-upstream.ts'
import { callUpstream, type UpstreamRequest } from '../../transport/upstream-call.ts'
import { inSteps, type Steps, type Walk } from '../../transport/upstream-steps.ts'
import { followed } from './followed-work.ts'
import { replicateVia } from '../replicate/prediction.ts'
import { jsonAnswer, recordIn } from '../../transport/json-steps.ts'
import { imagesAt } from './openai-images.ts'
import { aProviderCall } from '../../../test/provider-call.ts'

/**
 * Jobs that continue at an upstream, over HTTP: polling, and cancellation in every case of failure.
 */

let upstream: ScriptedUpstream
let egress: Egress
let asked: string[]
/** Next responses to the polls; 0 cuts the connection. */
let stands: (number | 'over')[] = []
useScriptedUpstream(
  ({ url = '' }, response) => {
    if (url === '/v1/models/a/b/predictions') {
      const streamAt = `${upstream.url}/streams/1`
      response.writeHead(201)
      response.end(JSON.stringify({ id: 'p1', status: 'starting', urls: { stream: streamAt } }))
      return
    }
    if (url === '/streams/1') {
      response.writeHead(500).end('{"detail":"no stream"}')
      return
    }
    const next = url === '/work' ? (stands.shift() ?? 200) : 200
    if (next === 0) response.destroy()
    else if (next === 'over') response.end('{"status":"over"}')
    else response.writeHead(next).end('{"status":"under way"}')
  },
  (started) => ({ upstream, egress, asked } = started),
)

const to = (path: string): UpstreamRequest => plainCall('GET', `${upstream.url}${path}`)

/** Timeout of each poll, in ms. */
let patienceMs: number[] = []

/** Skips the pauses between polls. */
const hasty = (steps: Steps): Steps => ({
  fetch(request) {
    patienceMs.push(request.firstByteTimeoutMs, request.idleTimeoutMs)
    return steps.fetch(request)
  },
  wait: async () => {},
  pass: (request, isLast) => steps.pass(request, isLast),
  add: (bytes) => steps.add(bytes),
  tell: (request) => steps.tell(request),
  isAborted: false,
})

const following =
  (limitMs: number): Walk =>
  (steps) =>
    followed(hasty(steps), {
      asking: { ...to('/work'), firstByteTimeoutMs: limitMs, idleTimeoutMs: limitMs },
      cancel: { ...to('/work/cancel'), method: 'POST' },
      limitMs,
      isOver: (answer) => recordIn(answer).status === 'over',
    })

const follow = following(600_000)

function outcome(request: UpstreamRequest): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let heard = ''
  callUpstream(egress, request, {
    onHead: (status) => (heard += `${status} `),
    onData: (chunk) => (heard += chunk.toString()),
    onEnd: () => resolve(heard),
    onFailure: (failure) => resolve(heard + failure),
  })
  return promise
}

const cancels = (): number => asked.filter((one) => one.endsWith('/cancel')).length

test.each<[string, (number | 'over')[]]>([
  ['at once', ['over']],
  ['after a while', [200, 200, 'over']],
  ['after questions that were not answered well', [500, 0, 200, 0, 503, 'over']],
])('work that is over %s', async (_when, answers) => {
  stands = answers
  expect(await outcome({ ...to('/'), via: inSteps(follow) })).toBe('200 {"status":"over"}')
  expect(cancels()).toBe(0)
})

test.each<[string, (number | 'over')[], string]>([
  ['connections fail', [0, 0, 0], 'unreachable'],
  ['it is not told how it stands', [200, 500, 429, 502], 'cut'],
  ['it never ends', [], 'timeout'],
])('work that is left because %s is cancelled', async (_why, answers, expected) => {
  stands = answers
  expect(await outcome({ ...to('/'), via: inSteps(follow) })).toBe(expected)
  await eventually(() => cancels() === 1, 'the cancelling')
})

test('a job may take up to its limit, and each poll has a shorter timeout', async () => {
  const questions = () => asked.filter((one) => one === 'GET /work').length
  for (const [limitMs, count] of [
    [3000, 4],
    [60_000, 23],
  ] as const) {
    asked.splice(0)
    patienceMs = []
    expect(await outcome({ ...to('/'), via: inSteps(following(limitMs)) })).toBe('timeout')
    // The duration of the polls counts, too.
    expect(questions()).toBeGreaterThan(count / 2)
    expect(questions()).toBeLessThanOrEqual(count)
    expect(Math.max(...patienceMs)).toBe(Math.min(limitMs, 30_000))
  }
})

test('cancels a prediction whose stream is unavailable', async () => {
  const via = replicateVia(
    { type: 46, key: 'k', baseUrl: upstream.url, apiVersion: '' },
    aProviderCall({ model: 'a/b', isStream: true }),
  )
  const request: UpstreamRequest = { ...to('/v1/models/a/b/predictions'), method: 'POST' }
  expect(await outcome({ ...request, via })).toContain('500 ')
  await eventually(() => asked.at(-1) === 'POST /v1/predictions/p1/cancel', 'the cancelling')
})

describe('images of a response', () => {
  const fetched = (addresses: readonly string[]) =>
    outcome({
      ...to('/'),
      via: inSteps(async (steps) => {
        const askFor = (): UpstreamRequest => to('/file')
        const data = await imagesAt(steps, addresses, { wanted: 'b64_json', askFor })
        return jsonAnswer({ pictures: data.length })
      }),
    })

  test('are fetched, or are already contained in it', async () => {
    const addresses = [`${upstream.url}/file`, 'data:image/png;base64,AAAA']
    expect(await fetched(addresses)).toBe('200 {"pictures":2}')
    expect(asked).toEqual(['GET /file'])
  })

  test('are limited to the maximum size of a response', async () => {
    const large = `data:image/png;base64,${'A'.repeat(40 * 1024 * 1024)}`
    expect(await fetched([large, large, large, large])).toBe('cut')
  })
})
