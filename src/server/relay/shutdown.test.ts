import net from 'node:net'
import { expect, test } from 'vitest'
import { openDatabase } from '../commands/open-database.ts'
import { createLedger } from '../ledger/ledger.ts'
import { recoverReservations } from '../ledger/recover.ts'
import { expectBooksBalanced } from '../test/expect-books-balanced.ts'
import {
  forEachDatabase,
  type DatabaseLocation,
  type OpenTestDatabase,
} from '../test/for-each-database.ts'
import { startHeldUpstream } from '../test/held-upstream.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  chatBody,
  eventsOf,
  eventually,
  openCall,
  requestIdOf,
  startRelay,
  textOf,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'

forEachDatabase('a server that stops', (open) => {
  let location: DatabaseLocation
  const remembered: OpenTestDatabase = async () => (location = await open())

  /** The books as they are on the disk after the server has gone. */
  async function bookedAfterwards(requestIds: readonly string[]) {
    const database = await openDatabase(location)
    await expectBooksBalanced(database)
    const rows = await database.read
      .selectFrom('ledger')
      .selectAll()
      .where('request_id', 'in', requestIds)
      .execute()
    const held = await database.read.selectFrom('reservations').selectAll().execute()
    expect(held).toEqual([])
    await database.close()
    return rows
  }

  test('lets running streams and answers finish, settles them, and takes no new calls', async () => {
    const setup = await startRelay(remembered, { SHUTDOWN_TIMEOUT: '30' })
    const client = await aClient(setup)
    // The stream must still run when the second call on its connection is sent.
    const slow = await aServedModel(setup, 'slow-chunk-200')
    const whole = await aServedModel(setup, 'slow-400')
    const running = await openCall(setup, client, chatBody(slow, { stream: true }))
    const pending = openCall(setup, client, chatBody(whole))
    const pipelined = pipelineTwo(setup, client, slow)
    await eventually(() => pipelined.text().includes('"role"'), 'the pipelined stream')
    await eventually(() => setup.upstream.seen().length >= 1, 'the calls to be under way')
    const closing = setup.close()
    pipelined.askAgain()
    const answered = await pending
    const ends = await Promise.all([running.ended, answered.ended, pipelined.ended])
    await closing
    expect(ends.slice(0, 2)).toEqual(['complete', 'complete'])
    expect(textOf(running.text())).toBe('The answer is forty-two.')
    expect(eventsOf(running.text()).at(-1)).toBe('[DONE]')
    expect(answered.status).toBe(200)
    // The second call of a connection that was busy was on its way when the port was closed.
    expect(pipelined.text().split('HTTP/1.1 200')).toHaveLength(3)
    expect(pipelined.text().split('[DONE]')).toHaveLength(3)
    await expect(openCall(setup, client, chatBody(slow))).rejects.toThrow('ECONNREFUSED')
    const rows = await bookedAfterwards([requestIdOf(running), requestIdOf(answered)])
    expect(rows.map(({ user_amount }) => user_amount)).toEqual([-18, -18])
  })

  /** A stream, and on the same connection a second call before the first has ended. */
  function pipelineTwo(setup: RelaySetup, client: RelayClient, model: string) {
    const { hostname, port } = new URL(setup.url)
    const body = JSON.stringify(chatBody(model, { stream: true }))
    const head = [
      'POST /v1/chat/completions HTTP/1.1',
      'host: localhost',
      `authorization: Bearer ${client.key}`,
      `content-length: ${body.length}`,
    ].join('\r\n')
    const call = `${head}\r\n\r\n${body}`
    const socket = net.connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    socket.write(call)
    const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()))
    return { ended, text: () => text, askAgain: () => void socket.write(call) }
  }

  test('breaks off slow calls, reports it to the client, and charges the received part', async () => {
    const setup = await startRelay(remembered, { SHUTDOWN_TIMEOUT: '0' })
    const client = await aClient(setup)
    const endless = await aServedModel(setup, 'chunks-900+tokens-900+slow-chunk-50+no-usage')
    const silent = await aServedModel(setup, 'hang')
    const running = await openCall(setup, client, chatBody(endless, { stream: true }))
    const waiting = openCall(setup, client, chatBody(silent))
    await eventually(() => textOf(running.text()).split('word').length > 3, 'some text')
    await eventually(
      () => setup.upstream.seen().some(({ body }) => JSON.stringify(body).includes('hang')),
      'the silent call',
    )
    const stoppedMs = performance.now()
    await setup.close()
    expect(performance.now() - stoppedMs).toBeLessThan(20_000)
    expect(await running.ended).toBe('complete')
    expect(eventsOf(running.text()).at(-1)).toContain('"code":"overloaded"')
    expect(running.text()).not.toContain('[DONE]')
    const refused = await waiting
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '2'])
    const rows = await bookedAfterwards([requestIdOf(running), requestIdOf(refused)])
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ request_id: requestIdOf(running), prompt_tokens: 12 })
    const delivered = textOf(running.text()).split('word').length - 1
    expect(rows[0]?.completion_tokens).toBeGreaterThanOrEqual(delivered)
  })

  /** Another process settles the open calls of a process that it assumes dead. */
  async function recoverAsAnother({ clock }: RelaySetup) {
    const other = await openDatabase(location)
    await other.write.deleteFrom('nodes').execute()
    const recovery = await recoverReservations(other, createLedger(other), {
      node: 'another',
      nowSeconds: clock.nowSeconds(),
    })
    await other.close()
    return recovery
  }

  test('or was taken for dead charges an answer whose call others have released', async () => {
    const setup = await startRelay(remembered)
    const client = await aClient(setup)
    const held = await startHeldUpstream()
    const model = aModel()
    await aRoute(setup, model, { base_url: held.url })
    const answer = openCall(setup, client, chatBody(model))
    await eventually(() => held.asked() > 0, 'the call to be under way')
    expect(await recoverAsAnother(setup)).toEqual({ settled: 0, released: 1, failed: [] })
    held.release()
    const answered = await answer
    expect([answered.status, await answered.ended]).toEqual([200, 'complete'])
    await setup.close()
    const rows = await bookedAfterwards([requestIdOf(answered)])
    expect(rows).toEqual([expect.objectContaining({ kind: 'consume', debt: 0 })])
    expect(rows[0]?.user_amount).toBeLessThan(0)
    await held.close()
  })

  test('or was taken for dead breaks off what others have closed meanwhile', async () => {
    const setup = await startRelay(remembered)
    const client = await aClient(setup)
    const long = await aServedModel(setup, 'chunks-900+tokens-900+slow-chunk-50+no-usage')
    const running = await openCall(setup, client, chatBody(long, { stream: true }))
    await eventually(() => textOf(running.text()).split('word').length > 3, 'some text')
    setup.clock.lapseSeconds(3)
    const reservations = setup.database.read.selectFrom('reservations').selectAll()
    await eventually(
      async () => (await reservations.execute()).some(({ checkpoint }) => checkpoint !== ''),
      'a checkpoint',
    )
    expect(await recoverAsAnother(setup)).toEqual({ settled: 1, released: 0, failed: [] })
    setup.clock.lapseSeconds(3)
    expect(await running.ended).toBe('complete')
    expect(eventsOf(running.text()).at(-1)).toContain('"code":"overloaded"')
    expect(running.text()).not.toContain('[DONE]')
    await setup.close()
    const rows = await bookedAfterwards([requestIdOf(running)])
    expect(rows).toHaveLength(1)
  })
})
