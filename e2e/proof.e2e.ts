import BetterSqlite from 'better-sqlite3'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectSeen } from './expect-page.ts'
import { startVisit, type Visit } from './visit.ts'

/** The dialog that asks for a proof of identity, in both languages. */

const PASSWORD = 'RootPass1'
const WORDS = {
  zh: {
    title: '验证身份',
    token: '生成系统访问令牌',
    field: '当前密码',
    confirm: '验证',
    close: '关闭',
    wrong: '当前密码不正确',
    made: '系统访问令牌已生成并复制到剪贴板',
    cancelled: '没有验证身份，操作未进行',
  },
  en: {
    title: 'Confirm that it is you',
    token: 'Generate system access token',
    field: 'Current password',
    confirm: 'Confirm',
    close: 'Close',
    wrong: 'The current password is wrong',
    made: 'A new system access token was generated and copied to the clipboard',
    cancelled: 'You did not confirm that it is you, so nothing was done',
  },
} as const

let visit: Visit
beforeAll(async () => {
  visit = await startVisit()
})
afterAll(() => visit.stop())

/** Lets the proof of every session expire. */
function expireProofs(): void {
  const database = new BetterSqlite(join(visit.gatehouse.folder, 'gatehouse.db'))
  database.prepare('UPDATE sessions SET verified_at = 0').run()
  database.close()
}

describe.each(['zh', 'en'] as const)('a proof of identity (%s)', (language) => {
  const words = WORDS[language]
  let page: Page
  const dialog = () => page.getByRole('dialog', { name: words.title })
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

  beforeAll(async () => {
    const person = await visit.person(`proof-${language}`)
    ;({ page } = await visit.open('/setting', person, { language }))
    expireProofs()
  })

  test('is asked for before something dangerous; without it nothing is done', async () => {
    await press(words.token)
    await expectSeen(dialog().getByLabel(words.field))
    await dialog().getByRole('button', { name: words.close, exact: true }).click()
    await expectSeen(page.getByText(words.cancelled))
    await expect.poll(() => dialog().count()).toBe(0)
  })

  test('a wrong password is named; after the right one the request is sent again', async () => {
    await press(words.token)
    await dialog().getByLabel(words.field).fill('wrong')
    await dialog().getByRole('button', { name: words.confirm, exact: true }).click()
    await expectSeen(dialog().getByText(words.wrong))
    await dialog().getByLabel(words.field).fill(PASSWORD)
    await page.keyboard.press('Enter')
    await expectSeen(page.getByText(words.made))
    await expect.poll(() => dialog().count()).toBe(0)
  })
})

test('after it, a form of settings with several guarded options is saved by one click', async () => {
  const { page } = await visit.open('/setting?tab=system', visit.root)
  expireProofs()
  await page.getByLabel('SMTP 服务器').fill('smtp.example.com')
  await page.getByLabel('SMTP 账户').fill('a@example.com')
  await page.getByRole('button', { name: '保存 SMTP 设置' }).click()
  const dialog = page.getByRole('dialog', { name: '验证身份' })
  await dialog.getByLabel('当前密码').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await expectSeen(page.getByText('操作成功完成！'))
})
