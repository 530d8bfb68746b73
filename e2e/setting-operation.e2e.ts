import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { expectSeen } from './expect-page.ts'
import { startSettings, type SettingsVisit } from './settings-visit.ts'
import { closeToasts, type Visit } from './visit.ts'

/** 设置 → 运营设置: every group with its validation, and the ratio table with its JSON. */

let settings: SettingsVisit
let visit: Visit
let page: Page

beforeAll(async () => {
  settings = await startSettings('operation')
  ;({ visit, page } = settings)
})
afterAll(() => visit.stop())

afterEach(() => closeToasts(page))
// The page stays open, and sends what needs a proof of identity.
beforeEach(() => visit.keepProven(visit.root))

const group = (name: string) => settings.group(name)
const option = (key: string) => settings.option(key)
/** Bodies of the PUT requests that the page sends during an action. */
async function puts(act: () => Promise<void>): Promise<unknown[]> {
  const sent: unknown[] = []
  const listen = (request: { method(): string; postDataJSON(): unknown }) => {
    if (request.method() === 'PUT') sent.push(request.postDataJSON())
  }
  page.on('request', listen)
  await act()
  page.off('request', listen)
  return sent
}

describe('groups', () => {
  test('only changed options are sent, as strings, and the bar lists them', async () => {
    const form = group('通用')
    await form.getByLabel('失败重试次数').fill('3')
    await form.getByLabel('用近似的方式估算 token 数').click({ force: true })
    await form.getByText('2 处未保存：失败重试次数 2 → 3，用近似的方式估算 token 数 开').waitFor()
    const sent = await puts(() => settings.save('通用'))
    expect(sent).toEqual([
      { key: 'RetryTimes', value: '3' },
      { key: 'ApproximateTokenEnabled', value: 'true' },
    ])
    expect(await option('RetryTimes')).toBe('3')
    await expect
      .poll(() => form.getByRole('button', { name: '保存通用设置', exact: true }).isDisabled())
      .toBe(true)
  })

  test('input during saving remains to be saved', async () => {
    const form = group('通用')
    let answer = () => {}
    const held = new Promise<void>((done) => {
      answer = done
    })
    await page.route('**/api/option/', async (route) => {
      if (route.request().method() === 'PUT') await held
      await route.continue()
    })
    const field = form.getByLabel('失败重试次数')
    await field.fill('5')
    await field.press('Enter')
    await field.fill('7')
    answer()
    await page.getByText('操作成功完成！').first().waitFor()
    await form.getByText('1 处未保存：失败重试次数 5 → 7').waitFor()
    await expect.poll(() => field.inputValue()).toBe('7')
    await page.unroute('**/api/option/')
    await closeToasts(page)
    await form.getByRole('button', { name: '放弃', exact: true }).click()
    await visit.setOption('RetryTimes', '3')
    await page.reload()
  })

  test('a discarded change is not sent', async () => {
    const form = group('额度')
    await form.getByLabel('新用户初始额度').fill('1000000')
    await form.getByText('等价 $2.00').waitFor()
    await expectSeen(group('监控').getByText('等价 $0.002000'))
    await form.getByRole('button', { name: '放弃', exact: true }).click()
    await expect.poll(() => form.getByLabel('新用户初始额度').inputValue()).toBe('0')
  })

  test.each([
    ['通用', '失败重试次数', '-1', '需要 0 到 100 之间的整数'],
    ['通用', '失败重试次数', '1.5', '需要 0 到 100 之间的整数'],
    ['通用', '单位美元额度', '0', '需要 0.01 到 1000000000000 之间的数'],
    [
      '通用',
      '充值链接',
      'example.com',
      '需要以 http:// 或 https:// 开头的地址，例如 https://example.com',
    ],
    ['日志', '请求与响应保留天数', '0', '需要 1 到 36500 之间的整数'],
    ['监控', '最长响应时间', '-5', '需要 0 到 100000 之间的数'],
    ['额度', '请求预扣费额度', '', '需要 0 到 10000000 之间的整数'],
  ])('%s: %s cannot be %j', async (name, field, text, sentence) => {
    const form = group(name)
    await form.getByLabel(field).fill(text)
    const sent = await puts(async () => {
      await settings.press(name)
      await form.getByText(sentence).waitFor()
    })
    await page.getByRole('alert').filter({ hasText: field }).getByText(sentence).waitFor()
    expect(sent).toEqual([])
    await expect.poll(() => form.getByLabel(field).getAttribute('aria-invalid')).toBe('true')
    await closeToasts(page)
    await form.getByRole('button', { name: '放弃', exact: true }).click()
  })

  test('a shorter log retention requires a confirmation of what it deletes', async () => {
    const form = group('日志')
    const days = form.getByLabel('日志保留天数')
    const question = page.getByRole('dialog', { name: '保存并删除' })
    await days.fill('30')
    const unsent = await puts(async () => {
      await settings.press('日志')
      await expectSeen(question.getByText('30 天前的日志会自动删除，无法恢复'))
      await question.getByRole('button', { name: '取消' }).click()
      await question.waitFor({ state: 'detached' })
    })
    expect(unsent).toEqual([])
    await settings.press('日志')
    await question.getByRole('button', { name: '保存并删除' }).click()
    await expect.poll(() => settings.option('LogRetentionDays')).toBe('30')
    await days.fill('0')
    await settings.save('日志')
    await expect.poll(() => settings.option('LogRetentionDays')).toBe('0')
  })

  test('the mouse wheel scrolls the page and changes no number', async () => {
    const number = group('通用').getByLabel('失败重试次数')
    await number.click()
    const before = await number.inputValue()
    await page.mouse.wheel(0, 100)
    await page.waitForTimeout(200)
    await expect.poll(() => number.inputValue()).toBe(before)
  })

  test('points per dollar may be any number', async () => {
    const form = group('通用')
    await expect.poll(() => form.getByLabel('单位美元额度').getAttribute('step')).toBe('0.01')
    await form.getByLabel('单位美元额度').fill('500000.55')
    await settings.save('通用')
    expect(await option('QuotaPerUnit')).toBe('500000.55')
    await visit.setOption('QuotaPerUnit', '500000')
  })

  test('the chat link adds the menu entry', async () => {
    const menu = page.getByRole('navigation', { name: '主菜单' })
    expect(await menu.getByRole('link', { name: '聊天', exact: true }).count()).toBe(0)
    const form = group('通用')
    await form.getByLabel('聊天链接').fill('https://chat.example.com/')
    await settings.save('通用')
    await menu.getByRole('link', { name: '聊天', exact: true }).waitFor()
    await visit.setOption('ChatLink', '')
  })
})

describe('clearing history', () => {
  test('defaults to thirty days ago and requires a time', async () => {
    const field = page.getByLabel('清理此时间之前的日志', { exact: true })
    const offered = new Date((await field.inputValue()).replace(' ', 'T')).getTime()
    const days = (Date.now() - offered) / 86_400_000
    expect(days).toBeGreaterThan(29)
    expect(days).toBeLessThan(32)
    await field.fill('')
    await page.getByRole('button', { name: '清理历史日志', exact: true }).click()
    await page.getByText('请选择有效的时间！').waitFor()
    await closeToasts(page)
    await field.fill('2030-01-31 12:00:00')
    await field.press('Enter')
  })

  test('asks, deletes and reports the number of rows', async () => {
    await page.getByRole('button', { name: '清理历史日志', exact: true }).click()
    await page.getByText('删除 2030-01-31 12:00:00 之前所有用户的日志？').waitFor()
    await page.getByRole('button', { name: '删除日志', exact: true }).click()
    await page.getByText(/已清理 \d+ 条日志！/).waitFor()
    expect((await visit.api('GET', '/api/log/?p=0'))['data']).toEqual([])
  })

  test('reports an error', async () => {
    await page.route('**/api/log/?target_timestamp=*', (route) =>
      route.fulfill({ json: { success: false, message: '数据库正忙' } }),
    )
    await page.getByRole('button', { name: '清理历史日志', exact: true }).click()
    await page.getByRole('button', { name: '删除日志', exact: true }).click()
    await page.getByText('日志清理失败：数据库正忙').waitFor()
    await expect
      .poll(() => page.getByRole('button', { name: '删除日志', exact: true }).isVisible())
      .toBe(true)
    await page.keyboard.press('Escape')
    await page.unroute('**/api/log/?target_timestamp=*')
  })
})

describe('ratios', () => {
  const cell = (head: string, model: string) =>
    page.getByLabel(`「${model}」的${head}`, { exact: true })
  const search = async (word: string) => {
    await page.getByRole('searchbox', { name: '搜索模型' }).fill(word)
  }
  const giveUp = async () => {
    await closeToasts(page)
    await group('倍率').getByRole('button', { name: '放弃', exact: true }).click()
  }

  test.each([
    ['模型倍率', '模型倍率不是有效的 JSON'],
    ['补全倍率', '补全倍率不是有效的 JSON'],
    ['分组倍率', '分组倍率不是有效的 JSON'],
  ])('reports %s that are not JSON', async (label, sentence) => {
    const area = group('倍率').getByRole('textbox', { name: label, exact: true })
    await area.fill('{"gpt-4o": 1,}')
    await settings.press('倍率')
    await group('倍率').getByText(sentence).first().waitFor()
    await expect.poll(() => area.getAttribute('aria-invalid')).toBe('true')
    await giveUp()
  })

  test('invalid JSON replaces the table until it is corrected', async () => {
    const area = group('倍率').getByRole('textbox', { name: '模型倍率', exact: true })
    await area.fill('{"a": 1')
    await page.getByText('不是有效的 JSON，改正之前表格不可用').waitFor()
    await area.fill('{"a": 1}')
    await page.getByRole('region', { name: '模型价格' }).waitFor()
    expect(await page.getByText('改正之前表格不可用').count()).toBe(0)
    await giveUp()
  })

  test('converts prices to ratios and back exactly', async () => {
    await search('gpt-4o-mini')
    await expect.poll(() => cell('模型倍率', 'gpt-4o-mini').inputValue()).toBe('0.075')
    await expect.poll(() => cell('提示 $/1M', 'gpt-4o-mini').inputValue()).toBe('0.15')
    await cell('提示 $/1M', 'gpt-4o-mini').fill('0.3')
    await cell('提示 $/1M', 'gpt-4o-mini').press('Enter')
    await expect.poll(() => cell('模型倍率', 'gpt-4o-mini').inputValue()).toBe('0.15')
    await cell('模型倍率', 'gpt-4o-mini').fill('0.1')
    await cell('模型倍率', 'gpt-4o-mini').press('Tab')
    await expect.poll(() => cell('提示 $/1M', 'gpt-4o-mini').inputValue()).toBe('0.2')
    await cell('补全 $/1M', 'gpt-4o-mini').fill('0.7')
    await cell('补全 $/1M', 'gpt-4o-mini').press('Enter')
    await expect.poll(() => cell('补全倍率', 'gpt-4o-mini').inputValue()).toBe('3.5')
    const area = group('倍率').getByRole('textbox', { name: '补全倍率', exact: true })
    await expect.poll(() => area.inputValue()).toContain('"gpt-4o-mini": 3.5')
  })

  test('saved ratios apply to the next call, and the others stay', async () => {
    const before = await option('ModelRatio')
    await settings.save('倍率')
    expect(await option('ModelRatio')).toBe(
      before.replace('"gpt-4o-mini":0.075', '"gpt-4o-mini":0.1'),
    )
    const { data } = await visit.api('GET', '/api/prices')
    expect(Object(data).completion_ratio).toContain('"gpt-4o-mini":3.5')
  })

  test('keeps a price that another user has set meanwhile', async () => {
    await cell('提示 $/1M', 'gpt-4o-mini').fill('0.4')
    await cell('提示 $/1M', 'gpt-4o-mini').press('Enter')
    const before = await option('ModelRatio')
    await visit.setOption('ModelRatio', before.replace(/\}$/, ',"of-another":9}'))
    await settings.save('倍率')
    expect(await option('ModelRatio')).toBe(
      before.replace('"gpt-4o-mini":0.1', '"gpt-4o-mini":0.2').replace(/\}$/, ',"of-another":9}'),
    )
    await visit.setOption('ModelRatio', before)
    await page.reload()
    await search('gpt-4o-mini')
  })

  test('keeps such a price also if the session ended before saving', async () => {
    const person = await visit.person('pricer', 10)
    const theirs = await visit.open('/setting?tab=operation', person)
    const area = theirs.page.getByRole('textbox', { name: '模型倍率', exact: true })
    await expect.poll(() => area.inputValue()).toContain('"gpt-4o-mini": 0.1')
    // Only the number, because Chromium needs seconds to enter a whole list of prices.
    await area.evaluate((element: HTMLTextAreaElement) => {
      const start = element.value.indexOf('"gpt-4o-mini": 0.1') + '"gpt-4o-mini": '.length
      element.setSelectionRange(start, start + '0.1'.length)
      element.focus()
    })
    await theirs.page.keyboard.type('0.3')
    await theirs.context.clearCookies()
    const form = theirs.page.getByRole('form', { name: '倍率', exact: true })
    await Promise.race([
      form.getByRole('button', { name: /^保存/ }).click(),
      theirs.page.waitForURL('**/login?expired=true'),
    ])
    await theirs.page.waitForURL('**/login?expired=true')
    const before = await option('ModelRatio')
    await visit.setOption('ModelRatio', before.replace(/\}$/, ',"of-another":9}'))
    await theirs.page.getByLabel('用户名或邮箱').fill('pricer')
    await theirs.page.getByLabel('密码', { exact: true }).fill('RootPass1')
    await theirs.page.getByRole('button', { name: '登录', exact: true }).click()
    await expect.poll(() => area.inputValue()).toContain('"gpt-4o-mini": 0.3')
    await form.getByRole('button', { name: /^保存/ }).click()
    await expect
      .poll(() => option('ModelRatio'))
      .toBe(
        before.replace('"gpt-4o-mini":0.1', '"gpt-4o-mini":0.3').replace(/\}$/, ',"of-another":9}'),
      )
    await theirs.context.close()
    await visit.setOption('ModelRatio', before)
    await page.reload()
    await search('gpt-4o-mini')
  })

  test('an invalid price is rejected and the old one restored', async () => {
    await search('gpt-4o-mini')
    await cell('模型倍率', 'gpt-4o-mini').fill('-1')
    await cell('模型倍率', 'gpt-4o-mini').press('Enter')
    await page.getByText('「gpt-4o-mini」：需要 0 到 1000000 之间的数，例如 1.25').first().waitFor()
    await expect.poll(() => cell('模型倍率', 'gpt-4o-mini').inputValue()).toBe('0.1')
  })

  test('models are added and removed', async () => {
    const form = group('倍率')
    await form.getByRole('button', { name: '添加', exact: true }).click()
    await form.getByText('请输入模型名称').waitFor()
    await page.getByLabel('新模型的名称').fill('gpt-4o-mini')
    await page.getByLabel('提示价格，$/1M').fill('1')
    await form.getByRole('button', { name: '添加', exact: true }).click()
    await form.getByText('「gpt-4o-mini」已经有价格了').waitFor()
    await page.getByLabel('新模型的名称').fill('my-model')
    await page.getByLabel('提示价格，$/1M').fill('2.5')
    await page.getByLabel('提示价格，$/1M').press('Enter')
    await expect.poll(() => cell('模型倍率', 'my-model').inputValue()).toBe('1.25')
    await page.getByRole('button', { name: '删除「my-model」', exact: true }).click()
    await page.getByText('没有名称含有「my-model」的模型').waitFor()
    const area = form.getByRole('textbox', { name: '模型倍率', exact: true })
    await expect.poll(() => area.inputValue()).not.toContain('my-model')
  })

  test('points out names that are easily confused', async () => {
    const area = group('倍率').getByRole('textbox', { name: '模型倍率', exact: true })
    await area.fill('{"GPT-4o": 1, "gpt-4o": 2, "o1": 3, "o1": 4}')
    await search('')
    await page
      .getByText('与另一个价格不同的名称只差大小写或空格，计费时按原样区分')
      .first()
      .waitFor({ state: 'attached' })
    await page.getByRole('button', { name: /处重复/ }).click()
    await page
      .getByText('在同一份 JSON 中出现了不止一次，以最后一次为准')
      .first()
      .waitFor({ state: 'attached' })
    await settings.press('倍率')
    await group('倍率').getByText('「o1」出现了不止一次').first().waitFor()
    expect(await option('ModelRatio')).not.toContain('GPT-4o')
    await page.getByRole('button', { name: /处重复/ }).click()
    await giveUp()
  })

  test('with two thousand models, only visible rows are rendered', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 2000 }, (_, index) => [`many-${String(index).padStart(4, '0')}`, 1]),
    )
    const area = group('倍率').getByRole('textbox', { name: '模型倍率', exact: true })
    await search('many-')
    await area.fill(JSON.stringify(many))
    await page.getByText('2,000 个', { exact: true }).waitFor()
    const box = page.getByRole('region', { name: '模型价格' })
    await expect.poll(() => box.getByRole('row').count()).toBeLessThan(80)
    await expect
      .poll(async () => {
        await box.evaluate((element) => element.scrollTo(0, element.scrollHeight))
        return cell('模型倍率', 'many-1999').count()
      })
      .toBe(1)
    await giveUp()
    await search('')
  })

  test('groups have a table too', async () => {
    await page.getByRole('button', { name: '分组倍率', exact: true }).click()
    await page.getByLabel('新分组的名称').fill('team')
    await page.getByLabel('新分组的名称').press('Enter')
    await cell('分组倍率', 'team').fill('0.75')
    await cell('分组倍率', 'team').press('Enter')
    await settings.save('倍率')
    expect(JSON.parse(await option('GroupRatio'))).toMatchObject({ team: 0.75 })
  })

  test('lists the groups for tokens, and their errors', async () => {
    const area = group('倍率').getByRole('textbox', { name: '令牌可选的分组', exact: true })
    await area.fill('{"team": 1}')
    await group('倍率').getByRole('button', { name: '保存倍率设置', exact: true }).click()
    await group('倍率')
      .getByText('需要分组名称到说明的 JSON 对象，例如 {"vip": "优先渠道"}')
      .first()
      .waitFor()
    await area.fill('{"team": "同事"}')
    await settings.save('倍率')
    expect(await option('UserUsableGroups')).toBe('{"team": "同事"}')
  })
})

describe('prices from a public list', () => {
  const cost = (input: number, output: number) => ({ cost: { input, output } })
  const models = { served: cost(2, 8), 'gpt-4o': cost(60, 240), 'gpt-4.1': cost(2, 9) }
  const host = createServer((_request, response) => {
    response.end(JSON.stringify({ openai: { models } }))
  })
  const dialog = () => page.getByRole('dialog', { name: '对照公开价格' })

  beforeAll(async () => {
    await new Promise<void>((listening) => host.listen(0, '127.0.0.1', listening))
    const fields = { name: 'new', type: 1, key: 'sk-new', models: 'served', groups: ['default'] }
    await visit.api('POST', '/api/channel/', fields)
    await page.reload()
  })
  afterAll(() => {
    host.close()
  })

  test('lists served models without a price', async () => {
    await group('倍率').getByRole('button', { name: '1 个没有价格', exact: true }).click()
    await expect
      .poll(() =>
        page.getByRole('region', { name: '模型价格' }).locator('tbody code').allTextContents(),
      )
      .toEqual(['served没有价格已启用的渠道提供此模型，但没有价格，调用会被拒绝'])
  })

  test('without the file of the comparison, the input stays', async () => {
    const link = group('通用').getByLabel('充值链接')
    await link.fill('https://pay.example.com')
    const sheet = '**/assets/price-dialog-*.css'
    await page.route(sheet, (route) => route.abort())
    await page.getByRole('button', { name: '对照公开价格', exact: true }).click()
    await page.getByText('加载失败，可能是网络中断').waitFor()
    await page.unroute(sheet)
    await expect.poll(() => link.inputValue()).toBe('https://pay.example.com')
    await group('通用').getByRole('button', { name: '放弃', exact: true }).click()
    await closeToasts(page)
  })

  test('shows the differences, those of enabled channels first', async () => {
    await page.getByRole('button', { name: '对照公开价格', exact: true }).click()
    await dialog().getByLabel('价格来源').selectOption('其他地址')
    // A server that listens on TCP has an address object.
    const { port } = host.address() as AddressInfo
    await dialog().getByLabel('地址').fill(`http://127.0.0.1:${port}/api.json`)
    await dialog().getByLabel('地址').press('Enter')
    await dialog().getByText('1 个不同，0 个相同').waitFor()
    await dialog().getByLabel('只看已启用渠道提供的模型').uncheck()
    await expect
      .poll(() => dialog().locator('tbody tr').allInnerTexts())
      .toEqual([
        expect.stringMatching(/^\s*served\s+没有价格\s+\$2\.00\s+\$8\.00\s+–\s*$/),
        expect.stringMatching(/gpt-4o\s+相差 20 倍以上\s+\$2\.50\s+\$10\.00\s+\$1\.25\s+\$60\.00/),
        expect.stringMatching(/gpt-4\.1\s+\$2\.00\s+\$8\.00\s+\$0\.50\s+\$2\.00\s+\$9\.00/),
      ])
  })

  test('only selected prices are applied', async () => {
    const before = await option('ModelRatio')
    await dialog().getByLabel('选择「served」').check()
    await dialog().getByLabel('选择「gpt-4.1」').check()
    await dialog().getByRole('button', { name: '应用 2 个价格', exact: true }).click()
    await page.getByText('已更新 2 个模型的价格').first().waitFor()
    await dialog().waitFor({ state: 'hidden' })
    const { data } = await visit.api('GET', '/api/prices')
    expect(Object(data).completion_ratio).toContain('"gpt-4.1":4.5')
    expect(await option('ModelRatio')).toBe(before.replace(/\}$/, ',"served":1}'))
    await expect.poll(() => page.getByRole('button', { name: '个没有价格' }).count()).toBe(0)
  })

  test('is unavailable while ratios are unsaved', async () => {
    await group('倍率').getByRole('textbox', { name: '缓存倍率', exact: true }).fill('{"a": 1}')
    await expect
      .poll(() => page.getByRole('button', { name: '对照公开价格', exact: true }).isDisabled())
      .toBe(true)
    await group('倍率').getByRole('button', { name: '放弃', exact: true }).click()
  })
})

test('appears in English if chosen', async () => {
  const screen = { width: 1024, language: 'en' } as const
  const opened = await visit.open('/setting?tab=operation', visit.root, screen)
  const form = opened.page.getByRole('form', { name: 'Ratios' })
  await form.getByRole('columnheader', { name: 'Completion ratio' }).waitFor()
  const cut = () =>
    form
      .locator('th, td:has(button)')
      .filter({ visible: true })
      .evaluateAll((cells) => cells.filter((it) => it.scrollWidth > it.clientWidth).length)
  await expect.poll(cut).toBe(0)
  await form.getByRole('textbox', { name: 'Model ratio', exact: true }).fill('{')
  await form.getByRole('button', { name: 'Save ratios', exact: true }).click()
  await form.getByText('Model ratio is not valid JSON').waitFor()
  expect(opened.problems).toEqual([])
  await opened.close()
})

test('an ordinary user does not see these tabs or their content', async () => {
  const user = await visit.person('somebody')
  const opened = await visit.open('/setting?tab=operation', user)
  await opened.page.getByText('只有管理员可以查看和修改这些设置').waitFor()
  const tabs = opened.page.getByRole('navigation', { name: '设置' }).getByRole('link')
  await expect.poll(() => tabs.allTextContents()).toEqual(['个人设置', '模型价格'])
  await opened.close()
})

test('an administrator does', async () => {
  const opened = await visit.open('/setting', await visit.person('keeper', 10))
  const tabs = opened.page.getByRole('navigation', { name: '设置' }).getByRole('link')
  await tabs.first().waitFor()
  await expect
    .poll(() => tabs.allTextContents())
    .toEqual(['个人设置', '模型价格', '运营设置', '模型能力', '系统设置', '其他设置'])
  await opened.close()
})
