import http from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorText } from '../../../contract/errors.ts'
import { csvCell } from '../../../contract/log-file.ts'
import { LogType } from '../../../contract/log.ts'
import { Role, UserStatus } from '../../../contract/user.ts'
import {
  aLogRow,
  anAdmin,
  aSettledCall,
  aToken,
  aUser,
  type TestUser,
} from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'

interface Begun {
  leave(): void
  closed: Promise<void>
  response: http.IncomingMessage
}

const ROWS = 1204
/** A slow reader's rest between two pieces: it would take many seconds for the whole. */
const SIP_MS = 20

forEachDatabase('export', (open) => {
  let server: TestServer
  let admin: TestUser
  let alice: TestUser
  let bob: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
    alice = await aUser(server, { username: 'alice', quota: 1_000_000 })
    bob = await aUser(server, { username: 'bob', quota: 1_000_000 })
    const tokens = new Map<TestUser, number>()
    for (const user of [alice, bob]) {
      tokens.set(user, (await aToken(server, user.id, { unlimited_quota: true })).id)
    }
    await Promise.all(
      Array.from({ length: ROWS }, (_, index) => {
        const user = index % 4 === 0 ? bob : alice
        return aSettledCall(server, {
          userId: user.id,
          tokenId: tokens.get(user) ?? 0,
          username: user.username,
          // More than one piece within a second.
          nowSeconds: server.clock.nowSeconds() - Math.floor(index / 500),
          tokenName: index % 7 === 0 ? '=1+1' : '编辑器 "一"',
          modelName: index % 2 === 0 ? 'gpt-4o' : 'claude',
          channelId: 1 + (index % 3),
          content: 'ratio, "quoted"\nsecond line',
          cost: index,
          isStream: index % 2 === 0,
        })
      }),
    )
    await aLogRow(server, { type: LogType.topUp, userId: alice.id, username: 'alice' })
  })
  afterAll(() => server.close())

  const get = (path: string, as: TestUser = admin) => server.call('GET', path, { as })

  /** Rows as read page by page. */
  async function paged(path: string, as: TestUser = admin): Promise<unknown[]> {
    const rows: unknown[] = []
    let before = ''
    for (;;) {
      const page = [(await get(`${path}&before=${before}`, as)).data].flat()
      if (page.length === 0) return rows
      rows.push(...page)
      const last = Object(page.at(-1))
      before = `${last.created_at}-${last.id}`
    }
  }
  const plain = (rows: unknown[]) =>
    rows.map((row) => {
      const { request, response, has_body, ...rest } = Object(row)
      expect({ request, response, has_body }).toEqual({
        request: '',
        response: '',
        has_body: false,
      })
      return rest
    })

  /** The rows of a JSON file without what is appended to them. */
  const wired = (text: string) =>
    [JSON.parse(text)].flat().map((row) => {
      const { cost_usd, price, ...rest } = Object(row)
      expect({ cost_usd, price }).toEqual({
        cost_usd: rest.type === LogType.consume ? rest.quota / 500_000 : null,
        price: null,
      })
      return rest
    })

  test('JSON: a file with every row of the list, in its order', async () => {
    const answer = await get('/api/log/export/')
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="logs.json"',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    const rows = wired(answer.text)
    expect(rows).toHaveLength(ROWS + 1)
    expect(rows).toEqual(plain(await paged('/api/log/?p=0')))
  })

  test.each([
    'username=bob',
    'token_name=%3D1%2B1&username=alice',
    'model_name=claude&channel=2',
    'type=1',
    'type=2&model_name=gpt-4o',
    'username=nobody',
    'request_id=unknown',
  ])('the filter %s lets the same rows through as the list', async (filter) => {
    const rows = wired((await get(`/api/log/export?${filter}`)).text)
    expect(rows).toEqual(plain(await paged(`/api/log/?${filter}`)))
  })

  test('one’s own rows only, for every filter', async () => {
    const rows = wired((await get('/api/log/self/export/?username=bob', alice)).text)
    expect(new Set(rows.map((row) => row.username))).toEqual(new Set(['alice']))
    expect(rows).toEqual(plain(await paged('/api/log/self?p=0', alice)))
  })

  test('NDJSON: one row per line, for every content', async () => {
    const answer = await get('/api/log/export/?format=ndjson&model_name=claude')
    expect(answer.headers['content-disposition']).toBe('attachment; filename="logs.ndjson"')
    const lines = answer.text.split('\n')
    expect(lines.pop()).toBe('')
    expect(lines.map((line) => JSON.parse(line).model_name)).toEqual(
      Array.from({ length: ROWS / 2 }, () => 'claude'),
    )
  })

  test('CSV: a table that spreadsheets read, and compute nothing of', async () => {
    const answer = await get('/api/log/export/?format=csv&tz=Asia/Shanghai&request_id=none')
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8')
    const head =
      '"id","user_id","created_at","type","content","username","token_name","model_name","quota",' +
      '"prompt_tokens","completion_tokens","channel","request_id","elapsed_time","is_stream",' +
      '"system_prompt_reset","cost_usd","group","priced_as","model_ratio","completion_ratio",' +
      '"cache_ratio","group_ratio","model_price","cached_tokens","usage_source","debt","lines"\r\n'
    // Read as text, the byte order mark is gone; it is three bytes longer than what can be seen.
    expect(answer.text).toBe(head)
    const bytes = await fetch(`${server.url}/api/log/export/?format=csv&request_id=none`, {
      headers: { cookie: admin.cookie },
    })
    expect(Buffer.from(await bytes.arrayBuffer()).toString()).toBe(`\uFEFF${head}`)
    const [row] = [(await get('/api/log/?token_name=%3D1%2B1')).data].flat().map(Object)
    const one = await get(
      `/api/log/export/?format=csv&tz=Asia/Shanghai&request_id=${row.request_id}`,
    )
    expect(one.text.slice(head.length)).toBe(
      `"${row.id}","${row.user_id}","2027-01-15 16:00:00","2","ratio, ""quoted""\nsecond line",` +
        `"${row.username}","'=1+1","${row.model_name}","${row.quota}","0","0","${row.channel}",` +
        `"${row.request_id}","1","${row.is_stream}","false","${row.quota / 500_000}"` +
        `${',""'.repeat(11)}\r\n`,
    )
    const all = await get('/api/log/export/?format=csv')
    expect(all.text.split('\r\n')).toHaveLength(ROWS + 3)
    expect(all.text).toContain('"2027-01-15 08:00:00"')
  })

  describe('of what a call cost', () => {
    const factors = {
      priced_as: 'gpt-4o-mini',
      requested_model: '=model',
      group: '=vip',
      model_ratio: '0.075',
      completion_ratio: '4',
      group_ratio: '0.9',
      cache_ratio: '0.5',
      model_price: '0.0015',
      lines: [{ kind: 'tool', name: 'web "search"', count: 2, ratios: ['5000'], per: 1 }],
      prompt_tokens: 11,
      cached_tokens: 7,
      completion_tokens: 5,
      usage_source: 'upstream',
    }
    let dora: TestUser

    beforeAll(async () => {
      dora = await aUser(server, { username: 'dora', quota: 1_000_000 })
      const token = await aToken(server, dora.id, { unlimited_quota: true })
      const call = { userId: dora.id, tokenId: token.id, username: 'dora' }
      await aSettledCall(server, { ...call, cost: 3, detail: JSON.stringify(factors) })
      const unreadable = { ...factors, group: 'a\u0000\ud800b' }
      await aSettledCall(server, { ...call, cost: 4, detail: JSON.stringify(unreadable) })
    })

    test('JSON: each factor, as in the single row', async () => {
      const rows = JSON.parse((await get('/api/log/self/export/', dora)).text)
      const row = rows.find(({ quota }: { quota: number }) => quota === 3)
      expect(row.cost_usd).toBe(0.000006)
      expect(row.price).toEqual({ ...factors, debt: 0 })
      expect((await get(`/api/log/self/${row.id}`, dora)).data).toMatchObject({ price: row.price })
      // A value that the database cannot store as text does not end the file.
      expect(rows).toHaveLength(2)
    })

    test('CSV: each factor in a column', async () => {
      const { text } = await get('/api/log/self/export/?format=csv&bodies=true', dora)
      const [line = ''] = text.split('\r\n').filter((one) => one.includes('"0.000006"'))
      const [before, after] = line.split('"0.000006",')
      expect(before?.split(',')).toHaveLength(17)
      expect(after).toMatch(
        /^"'=vip","gpt-4o-mini","0.075","4","0.5","0.9","0.0015","7","upstream","0","\[\{.*""web \\""search\\"".*\}\]","",""$/,
      )
    })
  })

  test('CSV: texts that a spreadsheet would compute are guarded in the whole file too', async () => {
    const carol = await aUser(server, { username: 'carol' })
    const texts = ['=1', '  +1', '-1', '@A1', '＝1', '\tplain', '\nplain', '\rplain', '\t=1', '1-1']
    for (const content of texts) {
      await aLogRow(server, { userId: carol.id, username: 'carol', content })
    }
    const { text } = await get('/api/log/self/export/?format=csv', carol)
    for (const content of texts) expect(text).toContain(`,${csvCell(content)},"carol",`)
  })

  test('no rows are a file too', async () => {
    expect((await get('/api/log/export/?username=nobody')).text).toBe('[]\n')
    expect((await get('/api/log/export/?username=nobody&format=ndjson')).text).toBe('')
  })

  // A client that saves the response as a file would save the error.
  describe('is refused by status', () => {
    test.each([
      ['/api/log/export/?format=csv&tz=Mars/Olympus', 400],
      ['/api/log/self/export/?tz=nowhere', 400],
    ])('%s', async (path, status) => {
      const answer = await get(path)
      expect(answer.status).toBe(status)
      expect(answer.json).toMatchObject({ success: false })
    })

    test('to an ordinary user who requests all users’ rows', async () => {
      const answer = await get('/api/log/export/', alice)
      expect(answer.status).toBe(403)
      expect(answer.json['success']).toBe(false)
    })

    test('without a session', async () => {
      expect((await server.call('GET', '/api/log/export/')).status).toBe(401)
    })
  })

  /** Begins an export and takes nothing of it. */
  function begin(as: TestUser, path = '/api/log/self/export/'): Promise<Begun> {
    return new Promise((resolve, reject) => {
      const request = http.get(
        server.url + path,
        { headers: { cookie: as.cookie }, agent: false },
        (response) => {
          response.on('error', () => {})
          const closed = new Promise<void>((done) => response.once('close', () => done()))
          resolve({ leave: () => void request.destroy(), closed, response })
        },
      )
      request.on('error', reject)
    })
  }

  /** Takes what comes, slowly; whether it was the whole file. */
  async function sip({ response, closed }: Begun): Promise<boolean> {
    response.on('data', () => {
      response.pause()
      setTimeout(() => response.resume(), SIP_MS)
    })
    await closed
    return response.complete
  }

  describe('of more than the sockets of both sides hold', () => {
    beforeAll(async () => {
      await server.database.write
        .updateTable('logs')
        .set({ content: 'x'.repeat(20_000) })
        .where('user_id', '=', alice.id)
        .execute()
    })

    async function expectServed(as: TestUser): Promise<void> {
      await expect
        .poll(async () => (await get('/api/log/self/export/?type=1', as)).status)
        .toBe(200)
    }

    test('one at a time for each user; a client that leaves ends its own', async () => {
      const first = await begin(alice)
      const second = await get('/api/log/self/export/', alice)
      expect(second.status).toBe(429)
      expect(second.json).toMatchObject({ success: false })
      expect((await get('/api/log/self/export/', bob)).status).toBe(200)
      first.leave()
      await first.closed
      await expectServed(alice)
    })

    test('four at a time in one process; the fifth user gets an error', async () => {
      const admins = await Promise.all([0, 1, 2, 3].map(() => anAdmin(server)))
      const begun = await Promise.all(admins.map((as) => begin(as, '/api/log/export/')))
      const fifth = await get('/api/log/self/export/', bob)
      expect(fifth.status).toBe(503)
      expect(fifth.message).toBe(errorText('log_export_busy', 'zh'))
      begun[0]?.leave()
      await expectServed(bob)
      for (const { leave } of begun) leave()
      for (const as of admins) await expectServed(as)
    })

    test('the fourth place is for an administrator', async () => {
      const others = [await aUser(server), await aUser(server)]
      for (const { id: userId, username } of others) {
        const row = { userId, username, content: 'x'.repeat(1_500_000) }
        for (let count = 0; count < 12; count += 1) await aLogRow(server, row)
      }
      const begun = await Promise.all([alice, ...others].map((user) => begin(user)))
      const fourth = await get('/api/log/self/export/', bob)
      expect(fourth.message).toBe(errorText('log_export_busy', 'zh'))
      expect((await get('/api/log/export/?type=1')).status).toBe(200)
      for (const { leave } of begun) leave()
      await expectServed(bob)
    })

    test('breaks off when its caller is demoted, disabled or signs out', async () => {
      const [demoted, disabled] = [await anAdmin(server), await anAdmin(server)]
      const begun = await Promise.all([
        begin(demoted, '/api/log/export/'),
        begin(disabled, '/api/log/export/'),
        begin(alice),
      ])
      const change = (user: TestUser, set: { role: number } | { status: number }) =>
        server.database.write.updateTable('users').set(set).where('id', '=', user.id).execute()
      await change(demoted, { role: Role.user })
      await change(disabled, { status: UserStatus.disabled })
      await server.call('GET', '/api/user/logout', { as: alice })
      expect(await Promise.all(begun.map(sip))).toEqual([false, false, false])
    })
  })

  test('an admin’s export of everybody’s rows is in the audit', async () => {
    await get('/api/log/export/?username=bob&format=csv')
    const entry = await server.database.read
      .selectFrom('audit')
      .selectAll()
      .where('action', '=', 'log.export')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    expect(entry).toMatchObject({ actor_id: admin.id })
    expect(entry.new_values).toContain('bob')
  })
})
