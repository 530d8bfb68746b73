import { describe, expect, test } from 'vitest'
import type { Egress } from '../../egress/egress.ts'
import { eventually, startScriptedUpstream, type ScriptedUpstream } from '../../test/relay-setup.ts'
import { endOfStumbling, plainCall, useScriptedUpstream } from '../../test/use-upstream.ts'
import { callUpstream, type UpstreamCall, type UpstreamRequest } from './upstream-call.ts'
import { inSteps, type StepAnswer, type Walk } from './upstream-steps.ts'

/** Calls of several requests, over HTTP, as seen by their listener. */

let upstream: ScriptedUpstream
let egress: Egress
let asked: string[]
useScriptedUpstream(
  ({ url }, response) => {
    if (url === '/cut') response.destroy()
    else if (url === '/hang') response.flushHeaders()
    else response.writeHead(url === '/no' ? 404 : 201).end(`answer to ${url}`)
  },
  (started) => ({ upstream, egress, asked } = started),
)

const to = (path: string): UpstreamRequest => plainCall('POST', `${upstream.url}${path}`)

const answerOf = (text: string): StepAnswer => ({
  status: 200,
  headers: { 'content-type': 'text/plain' },
  body: Buffer.from(text),
})

/** Makes a call by this walk; returns the listener's events in order. */
function called(walk: Walk): { heard: Promise<string[]>; call: UpstreamCall } {
  const { promise: heard, resolve } = Promise.withResolvers<string[]>()
  const seen: string[] = []
  const call = callUpstream(
    egress,
    { ...to('/first'), via: inSteps(walk) },
    {
      onHead: (status) => seen.push(String(status)),
      onData: (chunk) => seen.push(chunk.toString()),
      onEnd: () => resolve([...seen, 'end']),
      onFailure: (failure) => resolve([...seen, failure]),
    },
  )
  expect(seen).toEqual([])
  return { heard, call }
}

test('sends one request after the other, and returns a converted response', async () => {
  const { heard } = called(async (steps, request) => {
    const first = await steps.fetch(request)
    await steps.wait(1)
    const second = await steps.fetch(to('/no'))
    return answerOf(`${first.status} ${first.body}, ${second.status}`)
  })
  expect(await heard).toEqual(['200', '201 answer to /first, 404', 'end'])
  expect(asked).toEqual(['POST /first', 'POST /no'])
})

test('a response that is passed on ends where the walk decides, and can be extended', async () => {
  const { heard } = called(async (steps, request) => {
    await steps.pass(request, () => true)
    steps.add(Buffer.from('and more'))
    return null
  })
  expect(await heard).toEqual(['201', 'answer to /first', 'and more', 'end'])
})

describe('failures', () => {
  test.each<[string, Walk, string[]]>([
    ['a step without an answer', (steps) => steps.fetch(to('/cut')), ['unreachable']],
    [
      'a fault of the walk itself',
      () => Promise.reject(new Error('a walk that stumbles')),
      ['unreachable'],
    ],
    [
      'an answer that breaks off when a part of it has been passed on',
      async (steps, request) => {
        await steps.pass(request, () => true)
        return steps.fetch(to('/cut'))
      },
      ['201', 'answer to /first', 'cut'],
    ],
  ])('%s fails the call', async (_what, walk, expected) => {
    expect(await called(walk).heard).toEqual(expected)
  })
})

test('an exception in the listener fails only the call', async () => {
  const request = { ...to('/first'), via: inSteps(() => Promise.resolve(answerOf('an answer'))) }
  expect(await endOfStumbling(egress, request)).toBe('cut')
})

test('an abandoned response is not read forever', async () => {
  let isGone = false
  const endless = await startScriptedUpstream((_request, response) => {
    const write = (): void => {
      if (!response.destroyed) response.write(Buffer.alloc(65_536), () => setImmediate(write))
    }
    response.on('close', () => (isGone = true))
    write()
  })
  const { heard } = called(async (steps) => {
    steps.tell({ ...to('/first'), url: endless.url })
    return answerOf('done')
  })
  expect(await heard).toEqual(['200', 'done', 'end'])
  await eventually(() => isGone, 'the end of the reading')
  await endless.close()
})

describe('an aborted call', () => {
  test('at its start never reaches the upstream', async () => {
    const { heard, call } = called((steps, request) => steps.fetch(request))
    call.abort()
    expect(await heard).toEqual(['unsent'])
  })

  test('aborts the walk while the upstream is silent, or between two requests', async () => {
    for (const [path, walk] of [
      ['/hang', (steps) => steps.fetch(to('/hang'))],
      [
        '/first',
        async (steps, request) => {
          await steps.fetch(request)
          await steps.wait(60_000)
          return null
        },
      ],
    ] as [string, Walk][]) {
      const { heard, call } = called(async (steps, request) => {
        try {
          return await walk(steps, request)
        } finally {
          expect(steps.isAborted).toBe(true)
          steps.tell(to('/cancel'))
        }
      })
      await eventually(() => asked.includes(`POST ${path}`), path)
      call.abort()
      expect(await heard).toEqual(['aborted'])
      await eventually(() => asked.includes('POST /cancel'), 'the last word')
      asked.length = 0
    }
  })
})
