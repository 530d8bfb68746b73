import { createServer, type Server } from 'node:https'
import net from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ChannelStatus } from '../../contract/channel.ts'
import { onSqlite } from '../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  eventually,
  expectAllWell,
  heldPoints,
  openCall,
  requestIdOf,
  startRelay,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../test/test-certificate.ts'

/**
 * The catalogue of upstream faults, row by row: the client's response, the effect on the channel's
 * health, and exactly one outcome per call in the ledger. Faults of the server's environment are
 * elsewhere: storage-trouble.test.ts (disk full, database gone), client-gone.test.ts (slow and
 * vanishing clients), bench/crash.test.ts (SIGKILL), shutdown.test.ts, and, for blocked addresses,
 * ../egress/egress.test.ts.
 */
interface Row {
  fault: string
  /** Makes the upstream misbehave; a base address where the fake upstream cannot. */
  words: string
  /** The response for a client without streaming. */
  whole: number
  /**
   * The result for a client of a stream: a status before the response, or the end of the stream.
   */
  streamed: number | 'whole' | 'error'
  /** Why the call failed or how its stream ended, as the metrics count it. */
  counted: string
}

const STREAM = 'chunks-8+tokens-8'
const ROWS: readonly Row[] = [
  {
    fault: 'refuses the connection',
    words: 'NOBODY',
    whole: 500,
    streamed: 500,
    counted: 'network',
  },
  {
    fault: 'closes without an answer',
    words: 'fail-cut',
    whole: 500,
    streamed: 500,
    counted: 'network',
  },
  {
    fault: 'has a name that leads nowhere',
    words: 'NO_NAME',
    whole: 500,
    streamed: 500,
    counted: 'network',
  },
  {
    fault: 'has a certificate nobody trusts',
    words: 'UNTRUSTED',
    whole: 500,
    streamed: 500,
    counted: 'network',
  },
  {
    fault: 'speaks TLS 1.1 at most',
    words: 'OLD_TLS',
    whole: 500,
    streamed: 500,
    counted: 'network',
  },
  { fault: 'speaks no HTTP', words: 'NO_HTTP', whole: 500, streamed: 500, counted: 'network' },
  {
    fault: 'says 100 to who did not ask for it',
    words: 'CONTINUES',
    whole: 500,
    streamed: 500,
    counted: 'network',
  },
  {
    fault: 'takes the call and is silent',
    words: 'hang',
    whole: 504,
    streamed: 504,
    counted: 'timeout',
  },
  {
    fault: 'is silent behind its head',
    words: 'stall',
    whole: 504,
    streamed: 504,
    counted: 'timeout',
  },
  {
    fault: 'is reset before its first event',
    words: 'cut-after-0',
    whole: 502,
    streamed: 502,
    counted: 'network',
  },
  {
    fault: 'is reset mid-stream',
    words: `${STREAM}+cut-after-4`,
    whole: 502,
    streamed: 'error',
    counted: 'truncated',
  },
  {
    fault: 'goes silent mid-stream',
    words: `${STREAM}+hang-mid-stream`,
    whole: 504,
    streamed: 'error',
    counted: 'stalled',
  },
  {
    fault: 'reports an error mid-stream',
    words: `${STREAM}+error-mid-stream`,
    whole: 200,
    streamed: 'error',
    counted: 'error-chunk',
  },
  {
    fault: 'announces less than it sends',
    words: 'bad-length-short',
    whole: 500,
    streamed: 'whole',
    counted: 'answered',
  },
  {
    fault: 'announces more than it sends',
    words: 'bad-length-long',
    whole: 502,
    streamed: 'whole',
    counted: 'answered',
  },
  {
    fault: 'sends chunks without the last',
    words: 'chunked-no-end',
    whole: 502,
    streamed: 'whole',
    counted: 'answered',
  },
  {
    fault: 'sends one line of a mebibyte',
    words: 'big-line-1048576',
    whole: 200,
    streamed: 'whole',
    counted: 'answered',
  },
  {
    fault: 'sends no final newline',
    words: 'no-final-newline',
    whole: 200,
    streamed: 'whole',
    counted: 'answered',
  },
  {
    fault: 'ends without its last word',
    words: 'end-without-done',
    whole: 200,
    streamed: 'whole',
    counted: 'answered',
  },
  {
    fault: 'does not say what was used',
    words: 'no-usage',
    whole: 200,
    streamed: 'whole',
    counted: 'usage-missing',
  },
  {
    fault: 'answers 200 with an error',
    words: 'error-200',
    whole: 502,
    streamed: 502,
    counted: 'status',
  },
  {
    fault: 'answers 200 with a page',
    words: 'html-200',
    whole: 500,
    streamed: 500,
    counted: 'answer',
  },
  {
    fault: 'answers 200 with nothing',
    words: 'fail-empty',
    whole: 500,
    streamed: 500,
    counted: 'answer',
  },
  { fault: 'answers 204', words: 'empty-204', whole: 500, streamed: 502, counted: 'status' },
  { fault: 'answers 301', words: 'redirect', whole: 502, streamed: 502, counted: 'status' },
  { fault: 'answers 400', words: 'fail-400', whole: 400, streamed: 400, counted: 'status' },
  { fault: 'answers 401', words: 'fail-401', whole: 503, streamed: 503, counted: 'status' },
  {
    fault: 'answers 429 with Retry-After',
    words: 'fail-429-retry-7',
    whole: 429,
    streamed: 429,
    counted: 'status',
  },
  { fault: 'answers 500', words: 'fail-500', whole: 500, streamed: 500, counted: 'status' },
  {
    fault: 'answers 502 with a page',
    words: 'fail-html',
    whole: 502,
    streamed: 502,
    counted: 'status',
  },
  { fault: 'answers 529', words: 'fail-529', whole: 529, streamed: 529, counted: 'status' },
]

onSqlite('an upstream that', (open) => {
  let setup: RelaySetup
  const places = new Map<string, string>()
  const servers: (Server | net.Server)[] = []

  async function aPlace(name: string, server: Server | net.Server, scheme: string): Promise<void> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.push(server)
    // A server listening on TCP has an address object.
    places.set(name, `${scheme}://localhost:${(server.address() as AddressInfo).port}`)
  }

  beforeAll(async () => {
    setup = await startRelay(open, {
      // Long enough for every fault but silence, also for a slow lookup of an unknown name.
      RELAY_FIRST_BYTE_TIMEOUT: '3',
      RELAY_WHOLE_ANSWER_TIMEOUT: '3',
      RELAY_IDLE_TIMEOUT: '3',
    })
    await setup.app.options.set('AutomaticDisableChannelEnabled', 'false')
    const identity = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }
    await aPlace('UNTRUSTED', createServer(identity), 'https')
    const old = { ...identity, minVersion: 'TLSv1' as const, maxVersion: 'TLSv1.1' as const }
    await aPlace('OLD_TLS', createTlsServer(old), 'https')
    await aPlace(
      'NO_HTTP',
      net.createServer((socket) => socket.end('SSH-2.0-x\r\n')),
      'http',
    )
    await aPlace(
      'CONTINUES',
      net.createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.end('HTTP/1.1 100 Continue\r\n\r\n'))
      }),
      'http',
    )
    places.set('NOBODY', 'http://127.0.0.1:9')
    places.set('NO_NAME', 'http://nowhere.invalid')
  })
  afterAll(async () => {
    for (const server of servers) server.close()
    await expectAllWell(setup)
    await setup.close()
  })

  async function aFaulty(words: string): Promise<{ model: string; channel: number }> {
    const model = aModel()
    const place = places.get(words)
    const channel = await aRoute(setup, model, place ? { base_url: place } : { words })
    return { model, channel }
  }

  /** The result of one call for its client, the ledger and the channel. */
  async function outcomeOf({ words }: Row, isStream: boolean) {
    const client = await aClient(setup)
    const { model, channel } = await aFaulty(words)
    const answer = await openCall(setup, client, chatBody(model, { stream: isStream }))
    await answer.ended
    await eventually(async () => (await heldPoints(setup, client.userId)) === 0, 'the end')
    return {
      status: answer.status,
      end: endOf(answer.text()),
      booked: await rowsOf(client, requestIdOf(answer)),
      counted: await countedOf(channel),
      isEnabled: await isEnabled(channel),
    }
  }

  const endOf = (text: string): 'whole' | 'error' | 'none' => {
    if (text.includes('"error"')) return 'error'
    return text.includes('data: [DONE]') ? 'whole' : 'none'
  }

  const rowsOf = async ({ userId }: RelayClient, requestId: string): Promise<string[]> => {
    const rows = await setup.database.read
      .selectFrom('ledger')
      .select('kind')
      .where('user_id', '=', userId)
      .where('request_id', '=', requestId)
      .execute()
    return rows.map(({ kind }) => kind)
  }

  const countedOf = async (channel: number): Promise<string[]> => {
    const { text } = await setup.call('GET', '/metrics')
    const lines = text.matchAll(/outcome="([^"]+)",channel="(\d+)"\} \d+/g)
    return [...lines].flatMap(([, outcome = '', at]) => (Number(at) === channel ? [outcome] : []))
  }

  // All concurrently, because silent upstreams take a second each.
  type Outcome = Awaited<ReturnType<typeof outcomeOf>>
  const outcomes = new Map<string, { whole: Outcome; streamed: Outcome }>()
  beforeAll(async () => {
    const all = ROWS.map(async (row) => {
      const [whole, streamed] = await Promise.all([outcomeOf(row, false), outcomeOf(row, true)])
      outcomes.set(row.fault, { whole, streamed })
    })
    await Promise.all(all)
  })

  test.each(ROWS)('$fault', ({ fault, whole, streamed, counted }) => {
    const isAnswer = typeof streamed === 'string'
    const end = isAnswer ? streamed : 'error'
    const isRefused = whole >= 400
    expect(outcomes.get(fault)).toMatchObject({
      whole: { status: whole, booked: isRefused ? [] : ['consume'], isEnabled: true },
      streamed: {
        status: isAnswer ? 200 : streamed,
        end,
        booked: isAnswer ? ['consume'] : [],
        counted: [counted],
        isEnabled: true,
      },
    })
  })

  test.each([
    [
      27,
      { choices: null, base_resp: { status_code: 1008, status_msg: 'no balance' } },
      503,
      'channel_account_refused',
    ],
    [
      27,
      { choices: null, base_resp: { status_code: 2013, status_msg: 'bad params' } },
      400,
      'bad params',
    ],
    [20, { error: { code: 403, message: 'flagged' } }, 400, 'flagged'],
    [48, { code: 10_013, message: 'input audit', sid: 's' }, 400, 'input audit'],
    [44, { code: 20_012, message: 'No such model', data: null }, 404, 'No such model'],
  ])(
    'an error of type %i within a good answer, %j, is told as %i',
    async (type, told, status, words) => {
      const upstream = await startScriptedUpstream((request, response) => {
        const isStream = request.headers.accept === 'text/event-stream'
        const [before, after] = isStream ? ['data: ', '\n\n'] : ['', '']
        const kind = isStream ? 'text/event-stream' : 'application/json'
        response.writeHead(200, { 'content-type': kind })
        response.end(`${before}${JSON.stringify(told)}${after}`)
      })
      const client = await aClient(setup)
      const model = aModel()
      await aRoute(setup, model, { type, base_url: upstream.url })
      for (const isStream of [false, true]) {
        const answer = await openCall(setup, client, chatBody(model, { stream: isStream }))
        await answer.ended
        expect(answer.status).toBe(status)
        expect(answer.text()).toContain(words)
      }
      await upstream.close()
    },
  )

  async function isEnabled(channel: number): Promise<boolean> {
    const { status } = await setup.database.read
      .selectFrom('channels')
      .select('status')
      .where('id', '=', channel)
      .executeTakeFirstOrThrow()
    return status === ChannelStatus.enabled
  }
})
