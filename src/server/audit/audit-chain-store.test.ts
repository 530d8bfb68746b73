import { createHmac } from 'node:crypto'
import dgram from 'node:dgram'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { errorText } from '../../contract/errors.ts'
import { insertPending } from '../second-factor/second-factor-store.ts'
import { anAdmin, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase, type DatabaseLocation } from '../test/for-each-database.ts'
import { softPasskey, storePasskey } from '../test/soft-passkey.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { cookieOf } from '../test/visitor.ts'
import { checkChains } from './audit-chain-store.ts'
import { deliverAudit } from './audit-sink.ts'
import { trimAudit } from './audit-upkeep.ts'

const DAY = 86_400

forEachDatabase('the audit', (open) => {
  let location: DatabaseLocation
  let server: TestServer
  let other: TestServer
  let root: TestUser
  let admin: TestUser
  beforeAll(async () => {
    location = await open()
    server = await startTestServer(() => Promise.resolve(location))
    other =
      location.engine === 'postgres'
        ? await startTestServer(() => Promise.resolve(location))
        : server
    root = await aUser(server, { role: Role.root })
    admin = await anAdmin(server)
  })
  afterAll(async () => {
    if (other !== server) await other.close()
    await server.close()
  })

  /** For both processes: a clock that is behind takes the other's claims for future ones. */
  function advance(seconds: number): void {
    for (const one of new Set([server, other])) one.clock.advanceSeconds(seconds)
  }
  const setOption = async (key: string, value: string) => {
    // Where the audit is sent needs a proof of identity within five minutes.
    await server.call('POST', '/api/verify', { as: root, body: { password: PASSWORD } })
    return server.call('PUT', '/api/option/', { as: root, body: { key, value } })
  }
  const change = (at: TestServer, value: string) =>
    at.call('PUT', '/api/option/', { as: root, body: { key: 'About', value } })
  const check = () => checkChains(server.database.read)
  const entries = async (query = '') => {
    const { data } = await server.call('GET', `/api/audit/?${query}`, { as: root })
    return [data].flat().map((row) => Object(row))
  }

  describe('as a chain', () => {
    test('is unbroken after parallel changes in all processes', async () => {
      const before = (await check()).count
      const changes = Array.from({ length: 30 }, (_, index) =>
        change(index % 2 === 0 ? server : other, `text ${index}`),
      )
      for (const answer of await Promise.all(changes)) expect(answer.json['success']).toBe(true)
      expect(await check()).toEqual({ count: before + 30, problems: [] })
    })

    test('shows a changed entry and a removed one', async () => {
      const { write } = server.database
      const rows = await write.selectFrom('audit').selectAll().orderBy('id').execute()
      const [row] = rows.slice(3)
      if (row === undefined) throw new Error('no entry')
      await write.updateTable('audit').set({ actor_id: 9 }).where('id', '=', row.id).execute()
      expect((await check()).problems).toEqual([
        expect.stringContaining(`audit entry ${row.id} (option.update, actor 9) was changed`),
      ])
      await write.deleteFrom('audit').where('id', '=', row.id).execute()
      expect((await check()).problems).toEqual([expect.stringContaining('were removed')])
      await write.insertInto('audit').values(row).execute()
      expect((await check()).problems).toEqual([])
    })

    test('retention deletes at the oldest end and keeps the rest whole', async () => {
      advance(10 * 86_400)
      await change(server, 'new')
      await setOption('AuditRetentionDays', '5')
      await trimAudit(server.app)
      expect((await entries()).map(({ action }) => action)).toEqual([
        'option.update',
        'option.update',
      ])
      expect(await check()).toMatchObject({ problems: [] })
      await setOption('AuditRetentionDays', '0')
      expect((await check()).problems).toEqual([])
    })
  })

  describe('of refusals', () => {
    const login = (username: string) =>
      server.call('POST', '/api/user/login', { body: { username, password: 'wrong-password' } })
    const settled = () => server.app.background.idle()

    test('has a failed sign-in with its account, and not what was typed for an unknown one', async () => {
      await login(admin.username)
      await login('my-secret-password')
      await settled()
      const rows = await entries('action=sign_in')
      expect(rows).toEqual([
        expect.objectContaining({ target_id: 0, target_name: '' }),
        expect.objectContaining({
          actor_id: 0,
          target_id: admin.id,
          target_name: admin.username,
          address: '127.0.0.1',
          after: { code: 'wrong_credentials', path: 'POST /api/user/login' },
        }),
      ])
      expect(JSON.stringify(rows)).not.toContain('my-secret')
      expect((await check()).problems).toEqual([])
    })

    test('has a wrong second factor and a wrong passkey with the account', async () => {
      const owner = await aUser(server)
      const codeHashes = ['none']
      const factor = { userId: owner.id, secret: 'JBSWY3DPEHPK3PXP', codeHashes, nowSeconds: 1 }
      await insertPending(server.database.write, factor)
      await server.database.write.updateTable('second_factors').set({ enabled_at: 1 }).execute()
      const credentials = { username: owner.username, password: PASSWORD }
      const asked = await server.call('POST', '/api/user/login', { body: credentials })
      const { flow_token } = Object(asked.data)
      await server.call('POST', '/api/user/login/2fa', { body: { code: '000000', flow_token } })
      await settled()
      await server.app.options.set('ServerAddress', 'https://gateway.example')
      const passkey = softPasskey('https://gateway.example', owner.id)
      await storePasskey(server.database.write, passkey, owner.id)
      const begun = await server.call('POST', '/api/user/passkey/login/begin')
      await server.call('POST', '/api/user/passkey/login/finish', {
        as: { cookie: cookieOf(begun, 'passkey') ?? '' },
        body: passkey.assert(Object(begun.data), { challenge: 'AAAA' }),
      })
      await server.app.options.set('ServerAddress', '')
      await settled()
      const target = { target_id: owner.id, target_name: owner.username }
      const rows = await entries('action=sign_in')
      expect(rows.slice(0, 2)).toMatchObject([
        { ...target, after: { code: 'passkey_invalid' } },
        { ...target, after: { code: 'second_factor_wrong' } },
      ])
    })

    test('has the refused call of a known account, not one without', async () => {
      await server.call('GET', '/api/audit/?actor=secret', { as: admin })
      await server.call('GET', '/api/audit/')
      await settled()
      expect(await entries('action=call.refuse')).toEqual([
        expect.objectContaining({
          actor_id: admin.id,
          target_name: 'GET /api/audit/',
          after: { code: 'role_too_low', path: 'GET /api/audit/' },
        }),
      ])
    })

    test('has no row where the console only asks for a proof of identity', async () => {
      await server.database.write.updateTable('sessions').set({ verified_at: 0 }).execute()
      const answer = await server.call('POST', '/api/user/2fa/setup', { as: admin })
      expect(answer.json).toMatchObject({ code: 'VERIFICATION_REQUIRED' })
      await settled()
      const refused = await entries('action=call.refuse')
      expect(JSON.stringify(refused)).not.toContain('2fa/setup')
    })

    test('does not grow beyond 20 of one address in an hour', async () => {
      for (let count = 0; count < 30; count += 1) await login(`nobody-${count}`)
      await settled()
      const { rows } = await server.database.read
        .selectFrom('audit')
        .select((eb) => eb.fn.countAll().as('rows'))
        .where('chain', '=', 'refusal')
        .executeTakeFirstOrThrow()
      expect(Number(rows)).toBe(20)
    })

    test('has a retention of its own', async () => {
      await setOption('AuditRefusalRetentionDays', '1')
      advance(2 * 86_400)
      const changes = await entries('action=option')
      await trimAudit(server.app)
      expect(await entries('action=sign_in')).toEqual([])
      expect(await entries('action=option')).toEqual(changes)
      expect((await check()).problems).toEqual([])
    })
  })

  describe('as a file', () => {
    test('has the entries of the list, as NDJSON and as CSV', async () => {
      await change(server, '=formula')
      const filter = 'action=option.update'
      const listed = await entries(filter)
      const file = await server.call('GET', `/api/audit/export/?${filter}&format=ndjson`, {
        as: root,
      })
      expect(file.headers['content-disposition']).toBe('attachment; filename="audit.ndjson"')
      const lines = file.text.trimEnd().split('\n')
      expect(lines.slice(0, 10).map((line) => JSON.parse(line))).toEqual(listed)
      const csv = await server.call(
        'GET',
        `/api/audit/export/?${filter}&format=csv&tz=Asia/Shanghai`,
        { as: root },
      )
      expect(csv.text).toContain('"id","created_at","actor_id"')
      expect(csv.text).toContain('"option.update","0","About"')
      expect(csv.text.split('\r\n')).toHaveLength(lines.length + 2)
      expect((await entries('action=audit.export')).length).toBe(2)
    })

    test('is for root only', async () => {
      const answer = await server.call('GET', '/api/audit/export/', { as: admin })
      expect(answer.status).toBe(403)
    })
  })

  describe('sent to a sink', () => {
    const closing: (() => void)[] = []
    afterEach(async () => {
      await setOption('AuditSink', '')
      for (const close of closing.splice(0)) close()
    })
    const later = () => advance(61)
    /** One more entry: a server's own timer may still send the last one to the former sink. */
    const deliverNext = async () => {
      later()
      await change(server, 'one more')
      await deliverAudit(server.app).catch(() => {})
    }

    test('is posted once, signed, and repeated with the same id after a failure', async () => {
      const received: { headers: http.IncomingHttpHeaders; body: string }[] = []
      let status = 500
      const sink = http.createServer(async (request, response) => {
        received.push({ headers: request.headers, body: await text(request) })
        response.writeHead(status).end()
      })
      closing.push(() => sink.close())
      await once(sink.listen(0, '127.0.0.1'), 'listening')
      const { port } = sink.address() as AddressInfo
      later()
      await setOption('AuditSinkSecret', 'a secret of the receiver')
      expect((await setOption('AuditSink', `http://127.0.0.1:${port}/`)).json['success']).toBe(true)
      // The server's own timer may be faster.
      await deliverAudit(server.app).catch(() => {})
      await expect.poll(() => received.length).toBe(1)
      // No process tries again immediately.
      await deliverAudit(other.app)
      expect(received).toHaveLength(1)
      status = 204
      later()
      await deliverAudit(server.app)
      await expect.poll(() => received.length).toBeGreaterThan(1)
      const [first, second] = received
      expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
      const { headers, body } = second ?? { headers: {}, body: '' }
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
      expect(headers['webhook-signature']).toBe(
        `v1,${createHmac('sha256', 'a secret of the receiver').update(signed).digest('base64')}`,
      )
      const sent = JSON.parse(body).entries
      expect(sent.map((row: { id: number }) => row.id)).toEqual(
        sent.map((row: { id: number }) => row.id).toSorted((a: number, b: number) => a - b),
      )
      expect(body).not.toContain('a secret of the receiver')
      await change(server, 'one more')
      await deliverAudit(server.app)
      const sentOf = (about: string) =>
        received
          .flatMap((post) => JSON.parse(post.body).entries)
          .filter((row) => row.after?.About === about).length
      await expect.poll(() => sentOf('one more')).toBe(1)
    })

    test('is repeated after a clock that was ahead is corrected', async () => {
      let status = 500
      const answered: number[] = []
      const sink = http.createServer((_request, response) => {
        answered.push(status)
        response.writeHead(status).end()
      })
      closing.push(() => sink.close())
      await once(sink.listen(0, '127.0.0.1'), 'listening')
      await setOption('AuditSink', `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`)
      advance(DAY)
      // The server's own timer may be faster.
      await deliverAudit(server.app).catch(() => {})
      await expect.poll(() => answered).toContain(500)
      advance(-DAY)
      status = 204
      await deliverAudit(server.app)
      await expect.poll(() => answered).toContain(204)
    })

    test('is written to a syslog server over TCP and UDP', async () => {
      const tcp = net.createServer()
      closing.push(() => tcp.close())
      await once(tcp.listen(0, '127.0.0.1'), 'listening')
      const texts: string[] = []
      tcp.on('connection', async (socket) => texts.push(await text(socket)))
      await setOption('AuditSink', `syslog+tcp://127.0.0.1:${(tcp.address() as AddressInfo).port}`)
      await expect.poll(() => deliverNext().then(() => texts.length)).toBeGreaterThan(0)
      expect(texts[0]).toMatch(/^\d+ <109>1 \S+ \S+ gatehouse \d+ option\.update - \{"id":/)

      const udp = dgram.createSocket('udp4')
      closing.push(() => udp.close())
      udp.bind(0, '127.0.0.1')
      await once(udp, 'listening')
      const packets: string[] = []
      udp.on('message', (packet) => packets.push(String(packet)))
      await setOption('AuditSink', `syslog+udp://127.0.0.1:${udp.address().port}`)
      await expect.poll(() => deliverNext().then(() => packets.length)).toBeGreaterThan(0)
      expect(packets[0]).toMatch(/^<109>1 /)
    })

    test('an invalid address is refused', async () => {
      const answer = await setOption('AuditSink', 'syslog://host')
      expect(answer.message).toContain('syslog+udp')
    })
  })

  test('its settings are root’s, also where administrators change the others', async () => {
    const lenient = await startTestServer(open, { OPTIONS_MIN_ROLE: '10' })
    try {
      const as = await anAdmin(lenient)
      const { data } = await lenient.call('GET', '/api/option/', { as })
      const keys = [data].flat().map((row) => Object(row).key)
      expect(keys).toContain('About')
      expect(keys).not.toContain('AuditRetentionDays')
      const body = { key: 'AuditRetentionDays', value: '1' }
      const answer = await lenient.call('PUT', '/api/option/', { as, body })
      expect(answer.message).toBe(errorText('role_too_low', 'zh'))
    } finally {
      await lenient.close()
    }
  })
})
