import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectSeen, loadedRows } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

/** The audit log in both languages, on one server: tests find their own entries. */

const WORDS = {
  zh: {
    none: '还没有记录。管理员的修改会出现在这里',
    refresh: '刷新',
    quota: '额度',
    edit: '编辑用户',
    actor: '操作者的用户名或 ID',
    target: '对象的名称或 ID',
    clear: '清除筛选',
    kind: '对象类型',
    channels: '渠道',
    noMatch: '没有符合筛选条件的记录',
    addChannel: '添加渠道',
    audit: '审计',
    forbidden: '无权访问',
    onlyRoot: '此页面仅限超级管理员使用',
    export: '导出',
    download: '下载文件',
    failed: '登录失败',
    code: '错误码',
    before: '修改前',
    sink: '审计记录转发地址',
    save: '保存审计设置',
    sinkProblem: '需要 https:// 地址',
  },
  en: {
    none: 'Nothing yet. Changes made by administrators appear here',
    refresh: 'Refresh',
    quota: 'Quota',
    edit: 'Edit user',
    actor: 'Actor: name or ID',
    target: 'Target: name or ID',
    clear: 'Clear filters',
    kind: 'Kind of target',
    channels: 'Channels',
    noMatch: 'No records match the filters',
    addChannel: 'Add channel',
    audit: 'Audit',
    forbidden: 'No access',
    onlyRoot: 'Only the super admin can open this page',
    export: 'Export',
    download: 'Download',
    failed: 'Failed sign-in',
    code: 'Error code',
    before: 'Before',
    sink: 'Send audit entries to',
    save: 'Save audit settings',
    sinkProblem: 'https:// address, or syslog+udp',
  },
} as const
const LANGUAGES = ['zh', 'en'] as const

let visit: Visit
beforeAll(async () => {
  visit = await startVisit()
})
afterAll(() => visit.stop())

test.each(LANGUAGES)('an empty audit log explains what it will contain (%s)', async (language) => {
  const { page, close } = await visit.open('/audit', visit.root, { language })
  await expectSeen(page.getByText(WORDS[language].none))
  await close()
})

describe.each(LANGUAGES)('the audit log (%s)', (language) => {
  const words = WORDS[language]
  const boss = `boss-${language}`
  const alice = `alice-${language}`
  let page: Page
  const rows = () => loadedRows(page)
  const press = (name: string) => page.getByRole('button', { name, exact: true })

  beforeAll(async () => {
    ;({ page } = await visit.open('/audit', visit.root, { language }))
  })

  test('lists an administrator’s change with the values before and after', async () => {
    const admin = await visit.person(boss, 10)
    await visit.person(alice)
    const [user] = await visit.ask<{ id: number }[]>(admin, `GET /api/user/search?keyword=${alice}`)
    const change = { id: user?.id, quota: 500_000, password: 'newpass12' }
    await visit.ask(admin, 'PUT /api/user/', change)
    await press(words.refresh).click()
    const newest = rows().first()
    await expect.poll(() => newest.innerText()).toContain(`${words.quota} 0 → 500,000`)
    await newest.getByRole('button', { name: words.edit, exact: true }).click()
    const panel = page.getByRole('complementary')
    await panel.getByText(`${alice} #${user?.id}`).waitFor()
    const cells = await panel.getByRole('row').filter({ hasText: words.quota }).innerText()
    expect(cells.split(/\s+/)).toEqual([words.quota, '0', '500,000'])
    expect(await panel.innerText()).not.toContain('$2')
    await page.keyboard.press('Escape')
    await expect.poll(() => panel.count()).toBe(0)
  })

  test('filters by actor, target and action; the address keeps the filters', async () => {
    await page.getByLabel(words.actor).fill(boss)
    await page.keyboard.press('Enter')
    await expect.poll(() => rows().count()).toBe(1)
    await press(words.clear).press('Enter')
    await expect.poll(() => rows().count()).toBeGreaterThan(2)
    // The button is gone, so the focus moves to the filters.
    await page.getByRole('search').and(page.locator(':focus')).waitFor()
    await page.getByLabel(words.target).fill(boss)
    await page.keyboard.press('Enter')
    await expect.poll(() => rows().count()).toBe(2)
    await page.reload()
    await expect.poll(() => rows().count()).toBe(2)
    await page.getByLabel(words.kind).selectOption({ label: words.channels })
    await expectSeen(page.getByText(words.noMatch))
  })

  test('on a phone, a long name does not hide the action, and filters show their names', async () => {
    const name = `${language}${'很长的名称'.repeat(12)}`
    const channel = { type: 1, key: 'sk-x', models: 'gpt-4o-mini', name }
    await visit.ask(visit.root, 'POST /api/channel/', channel)
    const screen = { width: 390, height: 800, language }
    const opened = await visit.open('/audit', visit.root, screen)
    const block = opened.page.getByRole('listitem').filter({ hasText: name })
    const action = block.getByRole('button', { name: words.addChannel, exact: true })
    await action.waitFor()
    const place = action.locator('..')
    expect(await place.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
    expect(await block.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0)
    for (const label of [words.actor, words.target]) {
      const field = opened.page.getByLabel(label)
      const spare = await field.evaluate((it: HTMLInputElement) => {
        it.value = it.placeholder
        return it.clientWidth - it.scrollWidth
      })
      expect([label, spare]).toEqual([label, 0])
    }
    await opened.close()
  })

  test('only root can open it', async () => {
    const admin = await visit.person(`second-${language}`, 10)
    const { page: theirs, close } = await visit.open('/channel', admin, { language })
    await settled(theirs)
    await theirs.getByRole('link', { name: words.channels, exact: true }).waitFor()
    expect(await theirs.getByRole('link', { name: words.audit, exact: true }).count()).toBe(0)
    await theirs.goto(`${visit.gatehouse.url}/audit`)
    await theirs.getByRole('heading', { name: words.forbidden }).waitFor()
    await expectSeen(theirs.getByText(words.onlyRoot))
    expect(await theirs.getByRole('table').count()).toBe(0)
    await close()
  })

  test('exports the entries of the filters as CSV', async () => {
    await page.goto(`${visit.gatehouse.url}/audit?target=${boss}`)
    await expect.poll(() => rows().count()).toBe(2)
    await press(words.export).click()
    const coming = page.waitForEvent('download')
    await press(words.download).click()
    const file = await coming
    expect(file.suggestedFilename()).toBe('audit.csv')
    const text = await readFile(await file.path(), 'utf8')
    expect(text).toContain('"user.create"')
    expect(text.trimEnd().split('\r\n')).toHaveLength(3)
  })

  test('a failed sign-in has one value, and no actor', async () => {
    const login = { username: boss, password: 'not-the-password' }
    await visit.api('POST', '/api/user/login', login)
    const found = `action=sign_in&target=${boss}`
    // Refusals are recorded after the response.
    await expect
      .poll(() => visit.ask<unknown[]>(visit.root, `GET /api/audit/?${found}`))
      .toHaveLength(1)
    await page.goto(`${visit.gatehouse.url}/audit?${found}`)
    await press(words.failed).click()
    const panel = page.getByRole('complementary')
    await expectSeen(panel.getByRole('row').filter({ hasText: words.code }))
    expect(await panel.getByRole('columnheader', { name: words.before }).count()).toBe(0)
    expect(await panel.innerText()).not.toContain('#0')
  })

  test('root sets retention and sink; an invalid address is refused with the reason', async () => {
    await page.goto(`${visit.gatehouse.url}/setting?tab=operation`)
    const sink = page.getByLabel(words.sink)
    await sink.fill('syslog://host')
    await press(words.save).click()
    await expectSeen(page.getByText(words.sinkProblem))
  })
})
