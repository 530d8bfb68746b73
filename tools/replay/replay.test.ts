import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../fake-upstream/fake-upstream.ts'
import { compareStep, differences } from './compare.ts'
import { loadKnownDifferences, loadRecording, type Step } from './recording.ts'
import { describeDifferences, replay } from './replay.ts'
import { runRecording } from './run-recording.ts'

describe('differences', () => {
  test.each([
    ['a volatile member of the same type', { id: 1 }, { id: 99 }],
    ['more members than recorded', { a: 1 }, { a: 1, b: 2 }],
    ['a null for any empty value', { a: null, b: null, c: null }, { a: '', b: [], c: {} }],
    ['an empty list for nothing', { a: [] }, { a: null }],
    ['one sentence for another', { message: '名称过长' }, { message: 'The name is too long' }],
    [
      'the content of a row',
      { body: { data: { content: 'x' } } },
      { body: { data: { content: 'y' } } },
    ],
    ['ids inside texts', 'refused (request id: 2026a)', 'refused (request id: 7)'],
    ['times inside texts', '用户于 2026-11-21 10:00:00', '用户于 2027-01-02 03:04:05'],
  ])('accept %s', (_what, want, got) => {
    expect(differences(want, got)).toEqual([])
  })

  test.each([
    ['another value', { a: 1 }, { a: 2 }, 'a'],
    ['a missing member', { a: { b: 1 } }, { a: {} }, 'a.b'],
    ['another type of a volatile member', { id: 1 }, { id: '1' }, 'id'],
    ['a list of another length', { a: [1] }, { a: [1, 2] }, 'a'],
    ['a list where an object was', { a: { b: 1 } }, { a: [] }, 'a.b'],
    ['a sentence where none was', { message: '' }, { message: 'no' }, 'message'],
    ['the literal message', { message: 'bind' }, { message: 'bound' }, 'message'],
    ['a value where nothing was', { a: null }, { a: 1 }, 'a'],
    ['volatile names in a list', { id: ['a'] }, { id: ['b'] }, 'id[0]'],
  ])('find %s', (_what, want, got, at) => {
    expect(differences(want, got).map((difference) => difference.at)).toEqual([at])
  })
})

test('compares a step as it says: set, shape, status', () => {
  const answer = (data: unknown, status = 200) => ({
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: { data },
  })
  const step = (compare: Step['compare']): Step => ({
    name: 'x',
    path: '/',
    ...(compare ? { compare } : {}),
    answer: answer([
      { name: 'a', n: 1 },
      { name: 'b', n: 2 },
    ]),
  })
  const turned = answer([
    { name: 'b', n: 2 },
    { name: 'a', n: 1 },
  ])
  expect(compareStep(step('set'), turned)).toEqual([])
  expect(compareStep(step(undefined), turned)).not.toEqual([])
  const others = answer([{ name: 'c', n: 3 }])
  expect(compareStep(step('shape'), others)).toEqual([])
  expect(compareStep(step('status'), answer(null))).toEqual([])
  expect(compareStep(step('status'), answer(null, 500))[0]?.at).toBe('status')
})

test('every recording can be loaded, and known differences refer to existing steps', () => {
  const names = [
    'account',
    'channels',
    'public',
    'redemptions',
    'relay',
    'tokens',
    'upstreams',
    'users',
  ]
  const recordings = new Map(names.map((name) => [name, loadRecording(name)]))
  expect([...recordings.values()].map(({ steps }) => steps.length > 20)).not.toContain(false)
  for (const { recording, step, reason } of loadKnownDifferences()) {
    const steps = recordings.get(recording)?.steps.map(({ name }) => name)
    expect([...(steps ?? []), '*']).toContain(step)
    expect(reason.length).toBeGreaterThan(10)
  }
})

describe('a run against a server', () => {
  let upstream: FakeUpstream
  let server: http.Server
  let base: string
  const received: { url: string; cookie: string; body: string }[] = []

  beforeAll(async () => {
    upstream = await startFakeUpstream()
    server = http.createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const body = Buffer.concat(parts).toString()
        received.push({ url: request.url ?? '', cookie: request.headers.cookie ?? '', body })
        response.setHeader('set-cookie', 'session=s1; Path=/; HttpOnly')
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ data: { id: 7 }, echo: `at ${upstream.url}` }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // A server that listens on TCP has an address object.
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    server.close()
    await upstream.close()
  })

  const answer = {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: { data: { id: 1 }, echo: 'at {{upstream}}' },
  }
  const steps: Step[] = [
    {
      name: 'sign in',
      as: 'root',
      method: 'POST',
      path: '/in',
      save: { user: 'body.data.id' },
      answer,
    },
    {
      name: 'again',
      as: 'root',
      method: 'PUT',
      path: '/用户/{{user}}',
      body: { id: '{{user}}' },
      answer,
    },
    { name: 'a visitor', path: '/', upstream: true, answer },
  ]
  const recording = { name: 'tiny', title: '', steps }

  test('keeps cookies, fills variables, and reports what the upstream received', async () => {
    await fetch(`${upstream.url}/v1/models`)
    const ran = await runRecording({ base, steps, variables: { upstream: upstream.url } })
    expect(ran.at(-1)?.got.upstream).toMatchObject([{ method: 'GET', url: '/v1/models' }])
    expect(received).toEqual([
      { url: '/in', cookie: '', body: '' },
      { url: '/%E7%94%A8%E6%88%B7/7', cookie: 'session=s1', body: '{"id":7}' },
      { url: '/', cookie: '', body: '' },
    ])
  })

  test('accepts known differences, and reports unknown and outdated ones', async () => {
    const options = { base, upstream: upstream.url, rootPassword: 'x', recording, known: [] }
    expect(await replay(options)).toEqual([])
    const wrong = { ...answer, body: { data: { id: 'text' } } }
    const changed = {
      ...recording,
      steps: [{ ...steps[2], name: 'odd', path: '/', answer: wrong }],
    }
    const found = await replay({ ...options, recording: changed })
    expect(found).toMatchObject([{ recording: 'tiny', step: 'odd', at: 'body.data.id' }])
    expect(describeDifferences(found)).toContain('tiny · odd · GET /')
    const known = [{ recording: 'tiny', step: 'odd', at: 'body.data', reason: 'ours is a number' }]
    expect(await replay({ ...options, recording: changed, known })).toEqual([])
    expect(await replay({ ...options, known })).toMatchObject([{ step: 'odd', got: 'agreement' }])
    const sometimes = known.map((entry) => ({ ...entry, maybe: true as const }))
    expect(await replay({ ...options, known: sometimes })).toEqual([])
  })

  test('an unreachable server differs in status', async () => {
    const options = { upstream: upstream.url, rootPassword: 'x', recording, known: [] }
    const found = await replay({ ...options, base: 'http://127.0.0.1:9' })
    expect(found[0]).toMatchObject({ at: 'status', want: 200, got: 0 })
  })
})
