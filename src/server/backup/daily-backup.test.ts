import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../clock.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { startDailyBackup } from './daily-backup.ts'

let server: TestServer
let mailbox: Mailbox
const parent = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-daily-'))
const folder = path.join(parent, 'backups')

beforeAll(async () => {
  const file = path.join(parent, 'gatehouse.db')
  // The server's own timer must not make the backups that the tests make by hand.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  server = await startTestServer(() => Promise.resolve({ engine: 'sqlite', path: file }), {
    SQLITE_PATH: file,
    BACKUP_DIR: folder,
    BACKUP_KEEP: '2',
  })
  vi.useRealTimers()
  mailbox = await startMailbox()
  await mailThrough(server, mailbox)
  await server.database.write
    .updateTable('users')
    .set({ email: 'root@example.test' })
    .where('username', '=', 'root')
    .execute()
})
afterAll(async () => {
  await server.close()
  await mailbox.close()
  fs.rmSync(parent, { recursive: true, force: true })
})

const names = (): string[] => fs.readdirSync(folder).toSorted()
const figure = async (name: string): Promise<string | undefined> => {
  const { text } = await server.call('GET', '/metrics')
  return text.split('\n').find((line) => line.startsWith(name))
}

test('one of several processes makes a backup a day; the newest and the manual ones are kept', async () => {
  expect(await figure('gatehouse_backup_last_success')).toMatch(/seconds 0$/)
  const [one, other] = [startDailyBackup(server.app, {}), startDailyBackup(server.app, {})]
  await Promise.all([one.look(), other.look()])
  expect(names()).toEqual(['gatehouse-daily-20270115T080000Z'])
  expect(fs.readdirSync(path.join(folder, names()[0] ?? '')).toSorted()).toEqual([
    'gatehouse.db',
    'session-secret',
    'settings.env',
  ])
  expect(await figure('gatehouse_backup_last_success')).toBe(
    'gatehouse_backup_last_success_timestamp_seconds 1800000000',
  )
  server.clock.advanceSeconds(SECONDS_PER_DAY - 1)
  await one.look()
  expect(names()).toHaveLength(1)
  fs.mkdirSync(path.join(folder, 'gatehouse-20270101T000000Z'))
  for (const step of [1, SECONDS_PER_DAY, SECONDS_PER_DAY]) {
    server.clock.advanceSeconds(step)
    await other.look()
  }
  expect(names()).toEqual([
    'gatehouse-20270101T000000Z',
    'gatehouse-daily-20270117T080000Z',
    'gatehouse-daily-20270118T080000Z',
  ])
  await Promise.all([one.stop(), other.stop()])
})

test('a failure is logged, counted in the metrics, mailed once, and retried after an hour', async () => {
  server.clock.advanceSeconds(SECONDS_PER_DAY)
  const daily = startDailyBackup(server.app, {})
  fs.renameSync(folder, `${folder}-aside`)
  // A file has the folder's name.
  fs.writeFileSync(folder, '')
  await daily.look()
  await daily.look()
  expect(daily.failures()).toBe(1)
  server.clock.advanceSeconds(SECONDS_PER_HOUR)
  await daily.look()
  expect(daily.failures()).toBe(2)
  expect(
    server.faults.splice(0).filter((line) => line.includes('daily backup failed')),
  ).toHaveLength(2)
  const mail = await mailbox.next()
  expect(mail.receivers).toEqual(['root@example.test'])
  expect(mail.parsed.subject).toContain('the daily backup failed')
  expect(mail.parsed.text).toContain(folder)
  await server.app.background.idle()
  expect(mailbox.mails).toHaveLength(1)
  fs.rmSync(folder)
  fs.renameSync(`${folder}-aside`, folder)
  server.clock.advanceSeconds(SECONDS_PER_HOUR)
  await daily.look()
  expect(names().at(-1)).toBe('gatehouse-daily-20270119T100000Z')
  await daily.stop()
})

test('an interrupted backup is removed a day later', async () => {
  const left = path.join(folder, '.gatehouse-daily-20270101T000000Z.part')
  fs.mkdirSync(left)
  fs.utimesSync(left, 1_790_000_000, 1_790_000_000)
  server.clock.advanceSeconds(SECONDS_PER_DAY)
  const daily = startDailyBackup(server.app, {})
  await daily.look()
  expect(fs.existsSync(left)).toBe(false)
  expect(daily.failures()).toBe(0)
  const count = names().length
  // A process that stopped in between has started a backup and not completed it.
  await server.database.write
    .updateTable('settings')
    .set({ value: String(server.clock.nowSeconds() + 1) })
    .where('name', '=', 'daily_backup_begun_at')
    .execute()
  server.clock.advanceSeconds(SECONDS_PER_HOUR + 1)
  await daily.look()
  expect(names()).toHaveLength(count)
  expect(names().at(-1)).toBe('gatehouse-daily-20270120T110001Z')
  await daily.stop()
})
