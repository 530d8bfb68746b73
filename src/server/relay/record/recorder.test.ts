import { inflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { RecordedAnswer } from '../../../../tools/traffic/recorded-answers.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { playExchange } from '../../test/play-exchange.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  eventually,
  post,
  requestIdOf,
  someTurns,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'
import {
  deleteRecording,
  insertRecording,
  recordingById,
  RECORDINGS_MESSAGE,
} from '../../recording/recording-store.ts'
import { updateUser } from '../../user/user-store.ts'
import type { RecordingFile } from './recording-file.ts'

const ANTHROPIC = 14

forEachDatabase('recorder', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelaySetup((started) => (setup = started), { open })
  beforeAll(async () => {
    client = await aClient(setup)
  })

  let last = 0

  /** Records calls as `gatehouse record` does. */
  async function aRecording(wish: { channel?: number; token?: number; calls?: number }) {
    last += 1
    const id = `recording-${last}`
    await insertRecording(setup.database.write, {
      id,
      channel_id: wish.channel ?? 0,
      token_id: wish.token ?? 0,
      calls_left: wish.calls ?? 1,
      expires_at: setup.clock.nowSeconds() + 600,
    })
    const announce = async () => {
      const { read } = setup.database
      const { promise: isRead, resolve } = Promise.withResolvers<void>()
      const queries = new WeakSet<object>()
      // The recorder then reads all recordings.
      setup.database.read = read.withPlugin({
        transformQuery({ node, queryId }) {
          if (JSON.stringify(node).includes('"recordings"')) queries.add(queryId)
          return node
        },
        transformResult({ queryId, result }) {
          if (queries.has(queryId)) resolve()
          return Promise.resolve(result)
        },
      })
      try {
        await setup.database.announce(RECORDINGS_MESSAGE)
        await isRead
      } finally {
        setup.database.read = read
      }
      await someTurns()
    }
    await announce()
    onTestFinished(async () => {
      await deleteRecording(setup.database.write, id)
      await announce()
    })
    return id
  }

  const rowsOf = (id: string) =>
    setup.database.read
      .selectFrom('recorded_calls')
      .selectAll()
      .where('recording_id', '=', id)
      .execute()

  async function filesOf(id: string, count = 1): Promise<RecordingFile[]> {
    const rows = await eventually(async () => {
      const found = await rowsOf(id)
      return found.length >= count && found
    }, `${count} recorded calls`)
    return rows.map((row) => {
      if (row.reason !== '') throw new Error(row.reason)
      // The recorder writes files of this shape.
      return JSON.parse(inflateRawSync(row.file).toString()) as RecordingFile
    })
  }

  const played = async (file: RecordingFile) => {
    // The shape that the test suite replays.
    const { requests, answer, recorded } = await playExchange(setup, file as RecordedAnswer)
    expect(requests).toEqual([])
    expect(answer).toEqual(recorded)
  }

  test('records all four bodies of a call, and the file can be replayed', async () => {
    const model = aModel()
    const channel = await aRoute(setup, model, {
      model_mapping: JSON.stringify({ [model]: 'm-1' }),
    })
    const id = await aRecording({ channel })
    const answer = await post(setup, client, chatBody(model))
    const [file] = await filesOf(id)
    expect(file).toMatchObject({
      name: `recorded/${requestIdOf(answer)}`,
      provider: 'openai',
      api: 'chat',
      model: 'm-1',
      stream: false,
      status: 200,
      exchange: {
        model,
        client: {
          method: 'POST',
          path: '/v1/chat/completions',
          headers: { authorization: '[redacted]', 'content-type': 'application/json' },
          body: JSON.stringify(chatBody(model)),
        },
        upstream: [
          {
            channelType: 1,
            model: 'm-1',
            request: {
              url: 'https://upstream.example/v1/chat/completions',
              body: JSON.stringify(chatBody('m-1')),
              headers: { authorization: '[redacted]' },
            },
            response: { status: 200 },
            isComplete: true,
            failure: null,
          },
        ],
        answer: { status: 200, body: answer.text, isComplete: true },
      },
    })
    if (file !== undefined) await played(file)
  })

  test.each([
    ['passed on', 1],
    ['converted', ANTHROPIC],
  ])('a stream that is %s is recorded with its pieces, and can be played', async (_way, type) => {
    const model = aModel()
    const channel = await aRoute(setup, model, { type })
    const id = await aRecording({ channel })
    const got = await stream(setup, client, chatBody(model))
    const [file] = await filesOf(id)
    const { upstream, answer } = file?.exchange ?? { upstream: [], answer: { body: '' } }
    expect(file?.stream).toBe(true)
    expect(answer.body).toBe(got.text())
    const response = upstream[0]?.response
    expect(response?.pieces.length).toBeGreaterThan(1)
    const sizes = (response?.pieces ?? []).map(([, size]) => size)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(Buffer.byteLength(file?.body ?? ''))
    if (file !== undefined) await played(file)
  })

  test('records an error before channel selection for a token', async () => {
    const id = await aRecording({ token: client.tokenId })
    const answer = await post(setup, client, '{"model": "m", "model": "n"}')
    const [file] = await filesOf(id)
    expect(file?.exchange.upstream).toEqual([])
    expect(file?.exchange.answer).toMatchObject({ status: 400, body: answer.text })
  })

  test('the file contains a failed attempt and the successful one after it', async () => {
    const model = aModel()
    const channel = await aRoute(setup, model, { words: 'cut-after-0', priority: 5 })
    await aRoute(setup, model)
    const id = await aRecording({ channel })
    await post(setup, client, chatBody(model))
    const [file] = await filesOf(id)
    const [first, second] = file?.exchange.upstream ?? []
    expect(first).toMatchObject({ response: { status: 200, pieces: [] }, isComplete: false })
    expect(first?.failure).toMatch(/\w/)
    expect(second).toMatchObject({ response: { status: 200 }, isComplete: true })
  })

  test('records only the requested number of calls, and no others', async () => {
    const model = aModel()
    const channel = await aRoute(setup, model)
    const other = aModel()
    await aRoute(setup, other)
    const id = await aRecording({ channel, calls: 2 })
    await post(setup, client, chatBody(other))
    await Promise.all(Array.from({ length: 6 }, () => post(setup, client, chatBody(model))))
    await post(setup, client, chatBody(model))
    await filesOf(id, 2)
    expect(await recordingById(setup.database.read, id)).toMatchObject({ calls_left: 0 })
    await post(setup, client, chatBody(model))
    expect(await rowsOf(id)).toHaveLength(2)
  })

  test('ends when its time is over', async () => {
    const model = aModel()
    const id = await aRecording({ channel: await aRoute(setup, model), calls: 5 })
    setup.clock.advanceSeconds(601)
    await post(setup, client, chatBody(model))
    setup.clock.advanceSeconds(60)
    await setup.database.announce(RECORDINGS_MESSAGE)
    await eventually(
      async () => (await recordingById(setup.database.read, id)) === undefined,
      'the end of the recording',
    )
    expect(await rowsOf(id)).toEqual([])
  })

  describe('secrets', () => {
    const KEY = 'AbC/dEf+gh"ijk-0123456789'
    const CLIENT_HEADER = 'a-cookie-value-12345'
    let upstream: ScriptedUpstream
    let script: { type: string; body: string; headers?: Record<string, string> }
    beforeAll(async () => {
      upstream = await startScriptedUpstream((_request, response) => {
        response.writeHead(200, { 'content-type': script.type, ...script.headers })
        response.end(script.body)
      })
    })
    afterAll(() => upstream.close())

    const escaped = (text: string): string =>
      [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    const chat = (content: string): string =>
      `{"choices":[{"index":0,"message":{"role":"assistant","content":${content}},` +
      '"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
    const events = (...parts: string[]): string =>
      [
        ...parts.map(
          (part) =>
            `data: {"choices": [{"index": 0, "delta": {"content": ${JSON.stringify(part)}}}]}`,
        ),
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
        'data: [DONE]',
        '',
      ].join('\n\n')
    const JSON_TYPE = 'application/json'
    const EVENTS_TYPE = 'text/event-stream'

    const cases: [
      string,
      (words: { host: string; mail: string; token: string }) => typeof script,
    ][] = [
      ['a key', () => ({ type: JSON_TYPE, body: chat(JSON.stringify(`key ${KEY}`)) })],
      ['a key in escapes', () => ({ type: JSON_TYPE, body: chat(`"${escaped(KEY)}"`) })],
      [
        'a key in base64',
        () => ({ type: JSON_TYPE, body: chat(`"${Buffer.from(KEY).toString('base64')}"`) }),
      ],
      [
        'a key in an address',
        () => ({ type: JSON_TYPE, body: chat(`"http://h/?key=${encodeURIComponent(KEY)}"`) }),
      ],
      ['the client’s key', ({ token }) => ({ type: JSON_TYPE, body: chat(`"sk-${token}"`) })],
      [
        'keys, addresses and hosts on a page',
        ({ host, mail, token }) => ({
          type: 'text/html',
          body: `<b>${KEY} ${host} ${mail} ${token} other@example.org</b>`,
        }),
      ],
      [
        'a key over several events',
        () => ({ type: EVENTS_TYPE, body: events('it is ', ...KEY.split(/(?=[hijk-])/), ' so') }),
      ],
      [
        'headers',
        ({ host }) => ({
          type: JSON_TYPE,
          body: chat('"session-of-mine-123"'),
          headers: {
            'set-cookie': 'session-of-mine-123',
            'x-key': KEY,
            location: `http://${host}`,
          },
        }),
      ],
      [
        'members that name an account',
        () => ({ type: JSON_TYPE, body: `{"organization":"acme-corp-77",${chat('"a"').slice(1)}` }),
      ],
    ]

    test.each(cases)('%s of an upstream are not in the file', async (_what, say) => {
      const mine = await aClient(setup)
      const mail = 'somebody.special@customer.example'
      await updateUser(setup.database.write, mine.userId, { email: mail })
      await setup.database.announce(`user:${mine.userId}`)
      const { host } = new URL(upstream.url)
      script = say({ host, mail, token: mine.key })
      const model = aModel()
      const base = `${upstream.url}/v1/account-of-mine-99/gateway`
      const channel = await aRoute(setup, model, {
        key: KEY,
        base_url: base,
        config: JSON.stringify({ header_override: { 'x-team-secret': 'tellnobody-42' } }),
      })
      const id = await aRecording({ channel })
      const told = [KEY, host, mail, mine.key, CLIENT_HEADER, 'tellnobody-42'].join(' ')
      await post(
        setup,
        mine,
        {
          ...chatBody(model, { messages: [{ role: 'user', content: told }], user: 'person-4711' }),
          stream: script.type === EVENTS_TYPE,
          metadata: { user_id: 'person-4712', note: escaped('x') },
        },
        {
          path: `/v1/chat/completions?key=${mine.key}&api-version=1&x=${encodeURIComponent(KEY)}`,
          headers: { cookie: `s=${CLIENT_HEADER}`, 'x-forwarded-for': '203.0.113.77' },
        },
      )
      const [file] = await filesOf(id)
      const text = JSON.stringify(file)
      const hidden = [
        KEY,
        JSON.stringify(KEY).slice(1, -1),
        encodeURIComponent(KEY),
        Buffer.from(KEY).toString('base64'),
        escaped(KEY),
        host,
        '127.0.0.1',
        mine.key,
        mail,
        'other@example.org',
        'person-4711',
        'person-4712',
        CLIENT_HEADER,
        'tellnobody-42',
        'account-of-mine-99',
        'acme-corp-77',
        'session-of-mine-123',
        '203.0.113.77',
      ]
      expect(hidden.filter((secret) => text.includes(secret))).toEqual([])
      // Checks the file as a client would read it, too.
      expect(lettersOf(file?.body ?? '')).not.toContain(lettersOf(KEY))
      expect(file?.exchange.client.path).toBe(
        '/v1/chat/completions?key=[redacted]&api-version=1&x=[redacted]',
      )
      const { response } = file?.exchange.upstream[0] ?? {}
      expect(response?.withheld).toBeUndefined()
      expect(Buffer.byteLength(file?.body ?? '')).toBe(Buffer.byteLength(script.body))
    })
  })
})

/** All texts of a body, joined, without other characters than letters and digits. */
function lettersOf(body: string): string {
  const texts = body.split('\n').flatMap((line) => {
    const json = /[[{].*/.exec(line)?.[0]
    if (json === undefined) return [line]
    const found: string[] = []
    try {
      JSON.parse(json, (_name, value: unknown) => {
        if (typeof value === 'string') found.push(value)
        return value
      })
    } catch {
      return [line]
    }
    return found
  })
  return texts.join('').replace(/[^A-Za-z0-9]/g, '')
}
