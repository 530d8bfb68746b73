import { randomInt } from 'node:crypto'
import type http from 'node:http'
import net from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { SeenCall } from '../../../tools/fake-upstream/fake-upstream.ts'
import { FIREHOSE_BYTES, FIREHOSE_CHUNKS, startFirehose } from '../test/firehose.ts'
import { onSqlite } from '../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  eventually,
  expectAllWell,
  expectNothingCharged,
  heldPoints,
  openCall,
  post,
  requestIdOf,
  someTurns,
  startCall,
  startRelay,
  startScriptedUpstream,
  textOf,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'

/**
 * Maximum turns of the event loop until an abort reaches the upstream. Not a time, because a
 * machine that stalls delays both the abort and the clock.
 */
const ABORT_TURNS_MAX = 25
const TURN_MS = 10
/** Tokens of the question, counted. */
const PROMPT_TOKENS = 12
const WORDS_PER_CHUNK = 2

onSqlite('a client that goes away', (open) => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { open })

  const consumeRows = (userId: number) =>
    setup.database.read
      .selectFrom('ledger')
      .selectAll()
      .where('user_id', '=', userId)
      .where('kind', '=', 'consume')
      .execute()

  /** The one row of a client that made one call. */
  async function onlyRow({ userId }: RelayClient) {
    const rows = await eventually(async () => {
      const found = await consumeRows(userId)
      return found.length > 0 && (await heldPoints(setup, userId)) === 0 ? found : null
    }, 'the settlement')
    expect(rows).toHaveLength(1)
    return rows[0]
  }

  const seenOf = (model: string): Promise<SeenCall> => {
    const calls: SeenCall[] = []
    return eventually(() => {
      calls.push(...setup.upstream.seen())
      return calls.find(({ body }) => typeof body === 'object' && body['model'] === model)
    }, 'the upstream to be called')
  }

  async function expectGoneSoon(seen: SeenCall): Promise<void> {
    for (let turn = 0; turn < ABORT_TURNS_MAX && seen.outcome === 'open'; turn += 1) {
      await sleep(TURN_MS)
    }
    expect(seen.outcome).toBe('client-gone')
  }

  test('in the middle of a stream is charged the prompt and what was produced', async () => {
    const words = `chunks-400+tokens-${400 * WORDS_PER_CHUNK}+slow-chunk-3+no-usage`
    for (let round = 0; round < 12; round += 1) {
      const client = await aClient(setup)
      const model = await aServedModel(setup, words)
      const answer = await openCall(setup, client, chatBody(model, { stream: true }))
      const enough = randomInt(1, 6000)
      const seen = await seenOf(model)
      await eventually(() => answer.bytes().length >= enough, 'some bytes')
      answer.leave()
      await expectGoneSoon(seen)
      const row = await onlyRow(client)
      const delivered = textOf(completeEvents(answer.text())).split('word').length - 1
      expect(row?.prompt_tokens).toBe(PROMPT_TOKENS)
      expect(row?.completion_tokens).toBeGreaterThanOrEqual(delivered)
      // At most a few chunks were in transit when the client left.
      expect(row?.completion_tokens).toBeLessThanOrEqual(delivered + 16 * WORDS_PER_CHUNK)
      expect(row?.user_amount).toBe(-(PROMPT_TOKENS + (row?.completion_tokens ?? 0)))
    }
  })

  const completeEvents = (text: string): string => text.slice(0, text.lastIndexOf('\n\n') + 2)

  test.each([false, true])(
    'while the upstream is silent is charged the prompt (stream: %j)',
    async (isStream) => {
      const client = await aClient(setup)
      const model = await aServedModel(setup, 'hang')
      const call = startCall(setup, client, chatBody(model, { stream: isStream }))
      const seen = await seenOf(model)
      call.destroy()
      await expectGoneSoon(seen)
      const row = await onlyRow(client)
      expect(row).toMatchObject({ prompt_tokens: PROMPT_TOKENS, completion_tokens: 0 })
    },
  )

  test.each([false, true])(
    'before the upstream got anything is charged nothing (stream: %j)',
    async (isStream) => {
      // It takes the connection and never says hello: the request waits for TLS.
      const greeted: net.Socket[] = []
      const silent = net.createServer((socket) => {
        socket.once('data', () => greeted.push(socket))
      })
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
      // A server listening on TCP has an address object.
      const { port } = silent.address() as AddressInfo
      const client = await aClient(setup)
      const model = aModel()
      await aRoute(setup, model, { base_url: `https://127.0.0.1:${port}` })
      const call = startCall(setup, client, chatBody(model, { stream: isStream }))
      await eventually(() => greeted.length > 0, 'the greeting')
      expect(await heldPoints(setup, client.userId)).toBeGreaterThan(0)
      call.destroy()
      await expectNothingCharged(setup, client)
      for (const socket of greeted) socket.destroy()
      silent.close()
    },
  )

  test('while a refusal is on its way is charged nothing', async () => {
    let begun = 0
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.write('{"error":', () => (begun += 1))
    })
    for (const isStream of [false, true]) {
      begun = 0
      const client = await aClient(setup)
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      const call = startCall(setup, client, chatBody(model, { stream: isStream }))
      await eventually(() => begun > 0, 'the refusal')
      await someTurns()
      call.destroy()
      await expectNothingCharged(setup, client)
    }
    await upstream.close()
  })

  test('while a whole answer is on its way is charged for the answer', async () => {
    // It has been made and is paid for: its own figures are better than a guess.
    const gate = Promise.withResolvers<void>()
    let begun = 0
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"choices":[{"message":{"content":"hi"}}],', () => (begun += 1))
      void gate.promise.then(() =>
        response.end('"usage":{"prompt_tokens":40,"completion_tokens":2,"total_tokens":42}}'),
      )
    })
    const clients: RelayClient[] = []
    for (const isStream of [false, true]) {
      const client = await aClient(setup)
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      const call = startCall(setup, client, chatBody(model, { stream: isStream }))
      clients.push(client)
      await eventually(() => begun === clients.length, 'the answer')
      await someTurns()
      call.destroy()
    }
    await someTurns()
    gate.resolve()
    for (const client of clients) {
      expect(await onlyRow(client)).toMatchObject({ prompt_tokens: 40, completion_tokens: 2 })
    }
    await upstream.close()
  })

  test('is not retried for', async () => {
    const client = await aClient(setup)
    const model = aModel()
    await aRoute(setup, model, { words: 'slow-3000+fail-500', priority: 1 })
    await aRoute(setup, model)
    setup.upstream.seen()
    const call = startCall(setup, client, chatBody(model))
    const seen = await seenOf(model)
    call.destroy()
    await eventually(() => seen.outcome === 'client-gone', 'the abort')
    await onlyRow(client)
    expect(setup.upstream.seen()).toEqual([])
  })
})

describe('clients that go away', () => {
  test('at any moment before the call has begun leave nothing behind', async () => {
    const setup = await startRelay(undefined, { SHUTDOWN_TIMEOUT: '30' })
    const model = await aServedModel(setup)
    const clients = await Promise.all(Array.from({ length: 40 }, () => aClient(setup)))
    const gone: Promise<unknown>[] = []
    const leaves = (call: http.ClientRequest, afterMs: number): void => {
      gone.push(new Promise((resolve) => call.once('close', resolve)))
      setTimeout(() => call.destroy(), afterMs)
    }
    for (const [index, client] of clients.entries()) {
      leaves(startCall(setup, client, chatBody(model)), index / 8)
    }
    // Half of a body, and then nothing more.
    for (const client of clients.slice(0, 20)) {
      const headers = { 'content-length': '1000' }
      leaves(startCall(setup, client, '{"model":', { headers }), 20)
    }
    await Promise.all(gone)
    await someTurns()
    for (const { userId } of clients) {
      await eventually(async () => (await heldPoints(setup, userId)) === 0, 'the release')
    }
    // A call that was forgotten would keep the server from stopping.
    const stoppingMs = performance.now()
    await setup.close()
    expect(performance.now() - stoppingMs).toBeLessThan(25_000)
  })

  test('500 together are all detected and settled once, and delay no other call', async () => {
    const setup = await startRelay()
    const client = await aClient(setup, { quota: 100_000_000 })
    const model = await aServedModel(setup, 'chunks-3000+tokens-3000+slow-chunk-100+no-usage')
    const quick = await aServedModel(setup)
    const count = 500
    const answers = await Promise.all(
      Array.from({ length: count }, () =>
        openCall(setup, client, chatBody(model, { stream: true })),
      ),
    )
    await eventually(() => answers.every((answer) => answer.bytes().length > 0), 'first events')
    const seen = setup.upstream.seen()
    expect(seen).toHaveLength(count)
    for (const answer of answers) answer.leave()
    const meanwhile = await post(setup, client, chatBody(quick))
    expect(meanwhile.status).toBe(200)
    await eventually(() => seen.every(({ outcome }) => outcome === 'client-gone'), 'the aborts')
    await eventually(async () => (await heldPoints(setup, client.userId)) === 0, 'settlements')
    const rows = await setup.database.read
      .selectFrom('ledger')
      .select('request_id')
      .where('user_id', '=', client.userId)
      .where('kind', '=', 'consume')
      .execute()
    const billed = new Set(rows.map(({ request_id }) => request_id))
    expect(billed.size).toBe(rows.length)
    expect(rows).toHaveLength(count + 1)
    for (const answer of answers) expect(billed).toContain(requestIdOf(answer))
    await expectAllWell(setup)
    await setup.close()
  })
})

describe('a client that reads slowly', () => {
  test('holds its own upstream back instead of filling our memory, and gets everything', async () => {
    const setup = await startRelay()
    const upstream = await startFirehose()
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const client = await aClient(setup)
    const body = chatBody(model, { stream: true })
    const answer = await openCall(setup, client, body, { isPaused: true })
    await eventually(() => upstream.state.isPaused, 'the upstream to be held back')
    let last = -1
    // The sockets between fill up, and then nothing moves.
    await eventually(async () => {
      const before = upstream.state.written
      await sleep(100)
      last = upstream.state.written
      return before === last
    }, 'a standstill')
    expect(last).toBeLessThan(FIREHOSE_CHUNKS / 2)
    // Others are served as ever.
    const quick = await aServedModel(setup)
    expect((await post(setup, client, chatBody(quick))).status).toBe(200)
    let bytes = 0
    answer.response.on('data', (part: Buffer) => {
      bytes += part.length
    })
    expect(await answer.ended).toBe('complete')
    expect(bytes).toBe(FIREHOSE_BYTES)
    const { log } = await bookedCall(setup, requestIdOf(answer))
    expect(log).toMatchObject({ prompt_tokens: 1, completion_tokens: 2 })
    await upstream.close()
    await expectAllWell(setup)
    await setup.close()
  })

  test('and takes nothing for the time that is allowed is cut off and charged', async () => {
    const setup = await startRelay(undefined, {}, { writeMs: 300 })
    const upstream = await startFirehose()
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const client = await aClient(setup)
    const body = chatBody(model, { stream: true })
    const answer = await openCall(setup, client, body, { isPaused: true })
    const { log } = await bookedCall(setup, requestIdOf(answer))
    expect(upstream.state.written).toBeLessThan(FIREHOSE_CHUNKS / 2)
    expect(log.completion_tokens).toBeGreaterThan(0)
    await eventually(() => upstream.state.isLeft, 'the upstream to be left')
    answer.response.resume()
    expect(await answer.ended).toBe('broken')
    await upstream.close()
    await expectAllWell(setup)
    await setup.close()
  })
})
