import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { AUDIT_SECRET } from '../../../contract/audit.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import { aChannel, anAdmin, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'

const GONE = 999_999
const { enabled, disabled } = ChannelStatus

forEachDatabase('batch routes', (open) => {
  let server: TestServer
  let admin: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    for (const table of ['channels', 'abilities', 'audit'] as const) {
      await server.database.write.deleteFrom(table).execute()
    }
  })

  const call = (method: string, path: string, body?: unknown) =>
    server.call(method, path, { as: admin, body })
  const batch = (action: string, ids: number[]) =>
    call('POST', '/api/channel/batch', { action, ids })
  const copy = (body: Record<string, unknown>) => call('POST', '/api/channel/batch/copy', body)
  const stored = async (id: number) => {
    const row = await server.database.read
      .selectFrom('channels')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst()
    return Object(row)
  }
  /** Abilities that the relay may use; a disabled one has a leading minus. */
  const abilities = async (id: number) => {
    const rows = await server.database.read
      .selectFrom('abilities')
      .selectAll()
      .where('channel_id', '=', id)
      .execute()
    return rows
      .map((row) => `${row.enabled ? '' : '-'}${row.group} ${row.model} ${row.priority}`)
      .toSorted()
  }
  const audits = async () => {
    const rows = await server.database.read.selectFrom('audit').selectAll().orderBy('id').execute()
    return rows.map(({ action, target_id, old_values, new_values }) => ({
      action,
      target_id,
      before: Object(JSON.parse(old_values ?? 'null')),
      after: Object(JSON.parse(new_values ?? 'null')),
    }))
  }
  const offered = async () => [(await call('GET', '/api/user/available_models')).data].flat()

  describe('POST /api/channel/batch', () => {
    test('disables and enables the given channels with their abilities, and leaves the rest', async () => {
      const on = await aChannel(server, { models: 'batch-a' })
      const off = await aChannel(server, { models: 'batch-b', status: disabled })
      const other = await aChannel(server, { models: 'batch-c' })
      const answer = await batch('disable', [on, off, GONE])
      // Unknown ids, for example deleted by another process, do not fail the request.
      expect(answer.data).toEqual({ changed: 1, missing: [GONE] })
      expect(await abilities(on)).toEqual(['-default batch-a 0'])
      expect(await abilities(other)).toEqual(['default batch-c 0'])
      expect(await offered()).not.toContain('batch-a')
      expect((await batch('enable', [on, off])).data).toEqual({ changed: 2, missing: [] })
      expect([(await stored(on)).status, (await stored(off)).status]).toEqual([enabled, enabled])
      expect(await abilities(off)).toEqual(['default batch-b 0'])
      expect(await offered()).toContain('batch-b')
    })

    test('each changed channel has its own audit row', async () => {
      const on = await aChannel(server)
      const off = await aChannel(server, { status: disabled })
      await batch('disable', [on, off])
      expect(await audits()).toEqual([
        {
          action: 'channel.update',
          target_id: on,
          before: { status: enabled },
          after: { status: disabled },
        },
      ])
      await batch('delete', [on, off])
      const deletions = (await audits()).slice(1)
      expect(deletions.map(({ action, target_id }) => [action, target_id])).toEqual([
        ['channel.delete', on],
        ['channel.delete', off],
      ])
    })

    test('enabling resumes paused keys', async () => {
      const id = await aChannel(server, { key: 'k1\nk2', status: disabled })
      const pause = { channel_id: id, key_id: 'x', status: 401, cause: '' }
      await server.database.write
        .insertInto('channel_key_pauses')
        .values({ ...pause, paused_at: 1, trials: 0, next_trial_at: 1 })
        .execute()
      await batch('enable', [id])
      const left = await server.database.read.selectFrom('channel_key_pauses').selectAll().execute()
      expect(left).toEqual([])
    })

    test('deletes the channels with all their data', async () => {
      const ids = [await aChannel(server), await aChannel(server), await aChannel(server)]
      const [first = 0, second = 0, kept = 0] = ids
      expect((await batch('delete', [first, second, second, GONE])).data).toEqual({
        changed: 2,
        missing: [GONE],
      })
      expect((await call('GET', '/api/channel/?p=0')).data).toMatchObject([{ id: kept }])
      expect([...(await abilities(first)), ...(await abilities(second))]).toEqual([])
      expect(await abilities(kept)).toHaveLength(1)
    })

    test.each([
      ['nobody is named', { action: 'disable', ids: [] }],
      ['too many are', { action: 'disable', ids: Array.from({ length: 1001 }, (_, id) => id + 1) }],
      ['an id is no number', { action: 'disable', ids: ['1'] }],
      ['the action is unknown', { action: 'explode', ids: [1] }],
    ])('is rejected and does nothing when %s', async (_what, body) => {
      const id = await aChannel(server)
      expect((await call('POST', '/api/channel/batch', body)).json['success']).toBe(false)
      expect((await stored(id)).status).toBe(enabled)
    })

    test('reports that the list has too many items, not that an item is too large', async () => {
      const ids = Array.from({ length: 1001 }, (_, index) => index + 1)
      const { message } = await call('POST', '/api/channel/batch', { action: 'disable', ids })
      expect(message).toBe('参数 ids 无效：最多 1000 项')
      const none = await call('POST', '/api/channel/batch', { action: 'disable', ids: [] })
      expect(none.message).toBe('参数 ids 无效：最少 1 项')
    })
  })

  describe('POST /api/channel/batch/copy', () => {
    test('copies only the given fields', async () => {
      const source_id = await aChannel(server, {
        name: 'source',
        key: 'sk-source',
        models: 'a,b',
        group: 'vip',
        priority: 7,
        weight: 3,
        model_mapping: '{"a":"x"}',
        system_prompt: 'Be brief.',
        config: '{"param_override":{"seed":1}}',
      })
      const id = await aChannel(server, { name: 'target', models: 'b,c', weight: 9 })
      const before = await stored(id)
      const fields = ['models', 'priority', 'model_mapping', 'param_override']
      const answer = await copy({ source_id, ids: [id, source_id], fields })
      expect(answer.data).toMatchObject({ changed: 1, missing: [] })
      expect(await stored(id)).toEqual({
        ...before,
        models: 'a,b',
        priority: 7,
        model_mapping: '{"a":"x"}',
        config: '{"param_override":{"seed":1}}',
      })
      expect(await abilities(id)).toEqual(['default a 7', 'default b 7'])
      expect(await audits()).toMatchObject([
        { target_id: id, before: { models: 'b,c' }, after: { models: 'a,b', priority: 7 } },
      ])
    })

    test('a dry run reports the changes and writes nothing', async () => {
      const source_id = await aChannel(server, { models: 'a,b', priority: 7 })
      const same = await aChannel(server, { name: 'same', models: 'a, b', priority: 7 })
      const id = await aChannel(server, { name: 'other', models: 'b' })
      const answer = await copy({
        source_id,
        ids: [same, id, GONE],
        fields: ['models', 'priority'],
        dry_run: true,
      })
      expect(answer.data).toEqual({
        changed: 1,
        missing: [GONE],
        values: [
          { field: 'models', value: 'a,b' },
          { field: 'priority', value: '7' },
        ],
        targets: [
          { id: same, name: 'same', type: 1, changes: [], left_out: [] },
          {
            id,
            name: 'other',
            type: 1,
            changes: [
              { field: 'models', before: 'b' },
              { field: 'priority', before: '0' },
            ],
            left_out: [],
          },
        ],
      })
      expect(await stored(id)).toMatchObject({ models: 'b', priority: 0 })
      expect(await audits()).toEqual([])
    })

    test('fields missing at the source are removed, but never the last model or group', async () => {
      const source_id = await aChannel(server)
      await server.database.write
        .updateTable('channels')
        .set({ models: null })
        .where('id', '=', source_id)
        .execute()
      const id = await aChannel(server, {
        models: 'a',
        system_prompt: 's',
        config: '{"param_override":{"seed":1},"region":"kept"}',
      })
      const fields = ['models', 'system_prompt', 'param_override']
      const answer = await copy({ source_id, ids: [id], fields })
      expect(answer.data).toMatchObject({
        targets: [{ left_out: [{ field: 'models', why: 'empty' }] }],
      })
      expect(await stored(id)).toMatchObject({
        models: 'a',
        system_prompt: '',
        config: '{"region":"kept"}',
      })
    })

    test('a type’s own fields are copied to channels of that type, from any column of older programs', async () => {
      const azure = { type: 3, base_url: 'https://a.example' }
      const source_id = await aChannel(server, { ...azure, other: '2024-06-01' })
      const id = await aChannel(server, { ...azure, config: '{"api_version":"old"}', other: 'old' })
      const openai = await aChannel(server)
      const answer = await copy({ source_id, ids: [id, openai], fields: ['api_version'] })
      expect(answer.data).toMatchObject({
        changed: 1,
        targets: [
          { id, changes: [{ field: 'api_version', before: 'old' }] },
          { id: openai, changes: [], left_out: [{ field: 'api_version', why: 'type' }] },
        ],
      })
      expect(await stored(id)).toMatchObject({
        config: '{"api_version":"2024-06-01"}',
        other: '2024-06-01',
      })
    })

    // Otherwise an admin who may edit channels could read a stored header at their own server.
    test('secret headers are copied only to channels with the same address, and never shown', async () => {
      const config = '{"header_override":{"x-key":"sk-hidden"}}'
      const source_id = await aChannel(server, { config })
      const sister = await aChannel(server)
      const thief = await aChannel(server, { base_url: 'https://thief.example' })
      const proxied = await aChannel(server, { config: '{"proxy":"http://thief.example:1"}' })
      const other = await aChannel(server, { type: 14 })
      const ids = [sister, thief, proxied, other]
      const answer = await copy({ source_id, ids, fields: ['header_override'] })
      const left_out = [{ field: 'header_override', why: 'place' }]
      expect(answer.data).toMatchObject({
        changed: 1,
        values: [{ field: 'header_override', value: AUDIT_SECRET }],
        targets: [
          { id: sister, changes: [{ field: 'header_override', before: '' }] },
          { id: thief, changes: [], left_out },
          { id: proxied, changes: [], left_out },
          { id: other, changes: [], left_out },
        ],
      })
      expect(answer.text).not.toContain('sk-hidden')
      expect(await stored(sister)).toMatchObject({ config })
      expect((await stored(thief)).config).toBe('')
    })

    test.each(['key', 'name', 'base_url', 'balance', 'used_quota', 'status'])(
      '%s cannot be copied',
      async (field) => {
        const source_id = await aChannel(server)
        const id = await aChannel(server, { name: 'target' })
        const before = await stored(id)
        const answer = await copy({ source_id, ids: [id], fields: [field] })
        expect(answer.json['success']).toBe(false)
        expect(await stored(id)).toEqual(before)
      },
    )

    test('all or nothing: if the source has an invalid value, no target changes', async () => {
      const source_id = await aChannel(server, { models: 'new' })
      await server.database.write
        .updateTable('channels')
        .set({ model_mapping: 'no JSON' })
        .where('id', '=', source_id)
        .execute()
      const id = await aChannel(server, { models: 'old' })
      const answer = await copy({ source_id, ids: [id], fields: ['models', 'model_mapping'] })
      expect(answer.message).toContain('模型重定向必须是 JSON 对象')
      expect(await stored(id)).toMatchObject({ models: 'old' })
      expect((await copy({ source_id: GONE, ids: [id], fields: ['models'] })).message).toBe(
        '没有找到该记录',
      )
    })

    test('one request can create only a limited number of abilities', async () => {
      const models = Array.from({ length: 2000 }, (_, index) => `m${index}`).join()
      const source_id = await aChannel(server, { models, group: 'a,b,c,d,e' })
      const ids = await Promise.all(Array.from({ length: 11 }, () => aChannel(server)))
      const answer = await copy({ source_id, ids, fields: ['models', 'group'] })
      expect(answer.message).toContain('100000')
      expect(await abilities(ids[0] ?? 0)).toEqual(['default gpt-4o-mini 0'])
    })
  })
})
