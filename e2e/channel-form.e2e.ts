import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  channelType,
  channelTypesInListOrder,
  type ChannelType,
} from '../src/contract/channel-types.ts'
import { startFakeUpstream, type FakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { clipboard, expectSeen } from './expect-page.ts'
import { settled } from './settled.ts'
import { startVisit, type Visit } from './visit.ts'

/** The channel form against the table of channel types: every shape of form, every special field. */

interface StoredChannel {
  id: number
  type: number
  name: string
  models: string
  group: string
  base_url: string
  other: string
  config: string
  model_mapping: string
  system_prompt: string
  priority: number
  weight: number
  key_set: boolean
  key_count: number
  config_set: string[]
}

let visit: Visit
let page: Page
let problems: string[]
let upstream: FakeUpstream

beforeAll(async () => {
  upstream = await startFakeUpstream()
  visit = await startVisit()
  ;({ page, problems } = await visit.open('/channel', visit.root))
})

afterAll(async () => {
  await visit.stop()
  await upstream.close()
  expect(problems).toEqual([])
})

const form = () => page.locator('form')
/** The field of a row, by the row's label. */
const field = (label: string) => form().getByLabel(label).first()
/** The label of exactly this row, with or without its asterisk. */
const rowLabel = (label: string) =>
  form().locator('label', { hasText: new RegExp(`^${label}(\\s\\*)?$`) })
const button = (name: string) => form().getByRole('button', { name, exact: true })
const expectText = (sentence: string) => page.getByText(sentence).first().waitFor()
const tags = () => form().locator('.mantine-Pill-label')

/** Through the list's link if possible: reloading the console takes much longer. */
async function openForm(): Promise<void> {
  if (page.url().endsWith('/channel')) {
    await page.getByRole('link', { name: '添加渠道', exact: true }).first().click()
  } else {
    await page.goto(`${visit.gatehouse.url}/channel/add`)
  }
  await button('创建').waitFor()
}

async function pickType({ label }: Pick<ChannelType, 'label'>): Promise<void> {
  await field('类型').click()
  await page.getByRole('option', { name: label.zh, exact: true }).click()
  await expect.poll(() => field('类型').inputValue()).toBe(label.zh)
}

const create = (channel: object) => visit.ask(visit.root, 'POST /api/channel/', channel)

const newest = async (): Promise<StoredChannel> => {
  const [channel] = await visit.ask<StoredChannel[]>(visit.root, 'GET /api/channel/?p=0')
  if (channel === undefined) throw new Error('there is no channel')
  return channel
}

async function submit(name = '创建'): Promise<void> {
  await button(name).click()
  await page.waitForURL('**/channel')
}

async function addModel(name: string): Promise<void> {
  await form().getByPlaceholder('自定义模型名称').fill(name)
  await button('填入').click()
}

/** Returns the members that decide which rows the form shows and what it sends. */
const formShape = (row: ChannelType): string =>
  JSON.stringify([
    row.baseUrlField.mode,
    row.fields.map(({ label: _label, placeholder: _placeholder, ...rest }) => rest),
    row.hiddenFields,
    row.key.parts.length,
    row.needsModels,
    row.notice !== null,
    row.legacy,
    row.retired,
  ])

const oneOfEachShape = channelTypesInListOrder.filter(
  (row, index, all) =>
    !row.retired && all.findIndex((other) => formShape(other) === formShape(row)) === index,
)

test('the list offers every type', async () => {
  await openForm()
  await field('类型').click()
  const offered = async () => (await page.getByRole('option').allInnerTexts()).toSorted()
  await expect
    .poll(offered)
    .toEqual(channelTypesInListOrder.map(({ label }) => label.zh).toSorted())
  await page.keyboard.press('Escape')
})

describe.each(oneOfEachShape)('type $type, $label.en', (row) => {
  test('shows the fields of its row and stores their values', async () => {
    await openForm()
    await pickType(row)
    const { baseUrlField, fields, hiddenFields, key, notice, legacy } = row
    if (notice !== null) await expectText(notice.zh)
    if (legacy) await expectText('这是早年的服务，可能已经停止')

    const hasAddress = baseUrlField.mode !== 'hidden'
    await expect.poll(() => field(baseUrlField.label.zh).count()).toBe(hasAddress ? 1 : 0)
    if (hasAddress) {
      const address = field(baseUrlField.label.zh)
      await expect.poll(() => address.getAttribute('placeholder')).toBe(baseUrlField.placeholder)
      await address.fill('https://up.example.com/base/')
    }
    const composed: Record<string, string> = {}
    for (const { config, label, placeholder, secret, choices } of fields) {
      const other = choices?.at(-1)
      if (other !== undefined) {
        await form().getByRole('button', { name: other.label.zh, exact: true }).click()
        composed[config] = other.value
        continue
      }
      const input = field(label.zh)
      await expect.poll(() => input.getAttribute('placeholder')).toBe(placeholder)
      if (secret && config !== 'vertex_ai_adc') {
        await expect.poll(() => input.getAttribute('type')).toBe('password')
      }
      composed[config] = config === 'vertex_ai_adc' ? '{"a":"b|c"}' : `a-${config}`
      await input.fill(composed[config])
    }
    const isTyped = !hiddenFields.includes('key')
    await expect.poll(() => rowLabel('密钥').count()).toBe(isTyped ? 1 : 0)
    if (isTyped) {
      const keyField = form().locator('input[type=password]').first()
      await expect.poll(() => keyField.getAttribute('placeholder')).toBe(key.placeholder.zh)
      const parts = key.parts.map((part) => `my-${part}`)
      await keyField.fill(parts.join(key.separator || ''))
      expect(await form().getByText('密钥的格式应为').count()).toBe(0)
    }
    await expect
      .poll(() => form().getByText('批量创建').count())
      .toBe(isTyped && !hiddenFields.includes('batch') ? 1 : 0)
    for (const [hidden, label] of [
      ['models', '模型'],
      ['model_mapping', '模型重定向'],
      ['system_prompt', '系统提示词'],
    ] as const) {
      await expect.poll(() => rowLabel(label).count()).toBe(hiddenFields.includes(hidden) ? 0 : 1)
    }
    if (!hiddenFields.includes('models')) await addModel(`only-${row.type}`)
    await field('名称').fill(`类型 ${row.type}`)
    await submit()

    const stored = await newest()
    expect(stored).toMatchObject({
      type: row.type,
      name: `类型 ${row.type}`,
      base_url: hasAddress ? 'https://up.example.com/base' : '',
      key_set: true,
      config_set: fields.filter(({ secret }) => secret).map(({ config }) => config),
    })
    const config: Record<string, string> = JSON.parse(stored.config || '{}')
    for (const { config: member, secret, alsoOther } of fields) {
      expect(config[member]).toBe(secret ? '' : composed[member])
      if (alsoOther) expect(stored.other).toBe(composed[member])
    }
    expect(stored.models.split(',').includes(`only-${row.type}`)).toBe(row.needsModels)
  })
})

describe('required fields', () => {
  beforeEach(() => openForm())

  test('name and key', async () => {
    await button('创建').click()
    await expectText('请填写渠道名称和渠道密钥！')
    await expectText('请填写渠道名称')
    await expectText('请填写渠道密钥')
    await field('名称').fill('x')
    await button('创建').click()
    const key = form().getByLabel('密钥 *', { exact: true })
    await expectSeen(key.and(page.locator('[aria-invalid=true]:focus')))
  })

  test('a hidden key can be revealed by keyboard', async () => {
    const key = form().getByLabel('密钥 *', { exact: true })
    await key.fill('sk-typed')
    await key.press('Tab')
    const eye = page.getByRole('button', { name: '显示密钥', exact: true })
    await expectSeen(eye.and(page.locator(':focus')))
    await page.keyboard.press('Enter')
    await expect.poll(() => key.getAttribute('type')).toBe('text')
    await expect.poll(() => eye.getAttribute('aria-pressed')).toBe('true')
  })

  test('at least one model', async () => {
    await field('名称').fill('x')
    await form().locator('input[type=password]').fill('k')
    await button('创建').click()
    await expectText('请至少选择一个模型')
  })

  test('no models for type 43', async () => {
    await pickType(channelType(43))
    await field('名称').fill('转发')
    await field(channelType(43).baseUrlField.label.zh).fill('https://up.example.com')
    await form().locator('input[type=password]').fill('Bearer k')
    await submit()
    expect(await newest()).toMatchObject({ type: 43, models: '' })
  })

  test('a model mapping in JSON', async () => {
    await field('名称').fill('x')
    await form().locator('input[type=password]').fill('k')
    await addModel('m')
    await field('模型重定向').fill('{"a":')
    await button('创建').click()
    await expectText('模型重定向必须是有效的 JSON')
    await field('模型重定向').fill('')
    await button('填入示例').click()
    await expect
      .poll(async () => JSON.parse(await field('模型重定向').inputValue()))
      .toEqual({ 'gpt-3.5-turbo-0301': 'gpt-3.5-turbo', 'gpt-4-0314': 'gpt-4' })
    await field('模型重定向').fill('{"a":"b"}')
    await button('整理格式').click()
    await expect.poll(() => field('模型重定向').inputValue()).toBe('{\n  "a": "b"\n}')
  })

  test('a group', async () => {
    await field('名称').fill('x')
    await form().locator('input[type=password]').fill('k')
    await addModel('m')
    await field('分组').press('Backspace')
    await button('创建').click()
    await expectText('请至少选择一个分组')
  })

  test('an address for types without a default', async () => {
    await pickType(channelType(3))
    await button('创建').click()
    await expectText('请填写「AZURE_OPENAI_ENDPOINT」，例如 https://my-resource.openai.azure.com')
    await field('AZURE_OPENAI_ENDPOINT').fill('ftp://x')
    await button('创建').click()
    await expectText('地址须以 http:// 或 https:// 开头')
  })

  test('the fields of a composed key', async () => {
    await pickType(channelType(33))
    await button('创建').click()
    for (const { label } of channelType(33).fields) await expectText(`请填写「${label.zh}」`)
    await pickType(channelType(42))
    await button('创建').click()
    for (const { label } of channelType(42).fields) await expectText(`请填写「${label.zh}」`)
  })
})

describe('defaults and numbers', () => {
  beforeEach(() => openForm())

  test('type 3 has its own default API version; the weight is at least 0; empty numbers are 0', async () => {
    await pickType(channelType(3))
    await field('名称').fill('Azure')
    await field('AZURE_OPENAI_ENDPOINT').fill('https://r.openai.azure.com//')
    await form().locator('input[type=password]').fill('k')
    await field('权重').fill('-5')
    await field('优先级').fill('-2')
    await submit()
    expect(await newest()).toMatchObject({
      base_url: 'https://r.openai.azure.com',
      other: '2024-03-01-preview',
      config: '{"api_version":"2024-03-01-preview","deployment_dots":"keep"}',
      weight: 0,
      priority: -2,
    })
  })

  test('a batch creates one channel per key and reports skipped lines', async () => {
    await field('名称').fill('批量')
    await addModel('m')
    await form().getByRole('switch').click()
    await field('密钥').fill('sk-1\r\n\n sk-2 \nsk-1\n')
    await expectText('批量创建，将添加 2 个渠道')
    await expectText('有 1 行重复的密钥，只会创建一次')
    const before = (await newest()).id
    await submit()
    expect((await newest()).id).toBe(before + 2)
  })

  test('pasting several keys switches to the list; a key with a space gets a note', async () => {
    const secret = form().locator('input[type=password]')
    await secret.fill('sk-1 sk-2')
    await expectText('密钥中有空格，可能是几个密钥连在了一起')
    await page.evaluate(() => navigator.clipboard.writeText('sk-1\nsk-2\n'))
    await secret.selectText()
    await secret.press('Control+V')
    await expectText('批量创建，将添加 2 个渠道')
    await field('密钥').and(page.locator(':focus')).waitFor()
    await expect.poll(() => field('密钥').inputValue()).toBe('sk-1\nsk-2\n')
  })

  test.each([
    [15, 'only-one', 'APIKey|SecretKey'],
    [18, 'a|b', 'APPID|APISecret|APIKey'],
    [22, 'nodash', 'APIKey-AppId'],
    [23, 'a|b|c|d', 'AppId|SecretId|SecretKey'],
  ])('shows the key format of type %i', async (type, key, format) => {
    await pickType(channelType(type))
    await form().locator('input[type=password]').fill(key)
    await expectText(`密钥的格式应为 ${format}`)
  })

  test('changing the type replaces the models, unless the user has chosen some', async () => {
    await pickType(channelType(36))
    await expect.poll(() => tags().allInnerTexts()).toContain('deepseek-flash')
    await pickType(channelType(25))
    await expect.poll(() => tags().allInnerTexts()).not.toContain('deepseek-flash')
    await button('清除所有模型').click()
    await addModel('mine')
    await pickType(channelType(36))
    await settled(page)
    // The second tag is next to the group's: only the chosen model remains.
    await expect.poll(() => tags().allInnerTexts()).toEqual(['default', 'mine'])
  })
})

describe('models', () => {
  test('are filled in, cleared, copied, added, and fetched from the upstream', async () => {
    await openForm()
    await button('填入相关模型').click()
    await expectText('已选')
    await button('清除所有模型').click()
    await expectText('此渠道能调用的模型')
    await button('填入所有模型').click()
    await form()
      .getByText(/已选 [\d,]{3,} 个/)
      .waitFor()
    await button('清除所有模型').click()
    await addModel('a,b c')
    await expect.poll(() => tags().allInnerTexts()).toEqual(['default', 'a', 'b', 'c'])
    await button('复制').click()
    await form().getByText('已复制').waitFor()
    expect(await clipboard(page)).toBe('a,b,c')

    await expect.poll(() => button('从上游获取').getAttribute('title')).toBe('请先填写密钥')
    await form().locator('input[type=password]').fill('sk-fetch')
    await field('接口地址（Base URL）').fill(upstream.url)
    await button('从上游获取').click()
    await expectText('上游提供 1 个模型，新填入 1 个')
    await expectText('上游没有其中的 3 个：a，b，c')
    await button('移除这些模型').click()
    await expect.poll(() => tags().allInnerTexts()).toEqual(['default', 'gpt-4o-mini'])
    await field('接口地址（Base URL）').fill('http://127.0.0.1:9')
    await button('从上游获取').click()
    await expectText('无法连接上游')
  })

  test('fetching keeps models chosen meanwhile, and ignores a response for another upstream', async () => {
    await openForm()
    await form().locator('input[type=password]').fill('sk-fetch')
    await field('接口地址（Base URL）').fill(upstream.url)
    await addModel('before')
    let answer = () => {}
    const hold = () => {
      const held = new Promise<void>((resolve) => (answer = resolve))
      return page.route(
        '**/api/channel/upstream_models',
        async (route) => {
          await held
          await route.continue()
        },
        { times: 1 },
      )
    }
    await hold()
    await button('从上游获取').click()
    await addModel('meanwhile')
    answer()
    await expectText('上游没有其中的 2 个：before，meanwhile')
    await expect
      .poll(() => tags().allInnerTexts())
      .toEqual(['default', 'before', 'meanwhile', 'gpt-4o-mini'])
    await hold()
    await button('从上游获取').click()
    await field('接口地址（Base URL）').fill('http://127.0.0.1:9')
    answer()
    await expectText('类型、地址或密钥已经改变，请重新获取')
    expect(await form().getByText('上游没有其中的').count()).toBe(0)
  })

  test('a model among many can be found and removed by keyboard, with announcements', async () => {
    await openForm()
    const many = Array.from({ length: 70 }, (_, index) => `m${index + 1}`)
    await addModel(many.join(','))
    const models = field('模型')
    const says = (text: string) => expectSeen(page.getByRole('status').getByText(text))
    await models.focus()
    await page.keyboard.press('ArrowLeft')
    await says('m70，第 70 个，共 70 个，按 Delete 键移除')
    await page.keyboard.press('ArrowLeft')
    await says('m69，第 69 个，共 70 个，按 Delete 键移除')
    await page.keyboard.press('Delete')
    await says('已移除 m69，m70，第 69 个，共 69 个，按 Delete 键移除')
    // The first tags are not rendered until they are focused.
    await page.keyboard.press('Home')
    await says('m1，第 1 个，共 69 个，按 Delete 键移除')
    await expectSeen(page.locator('[data-marked]').getByText('m1', { exact: true }))
    await page.keyboard.press('Backspace')
    await says('已移除 m1，m2，第 1 个，共 68 个，按 Delete 键移除')
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => page.locator('[data-marked]').count()).toBe(0)
    await page.keyboard.press('Backspace')
    await says('已移除 m70')
    await expectText('已选 67 个')
    // In a text, the same keys move the cursor.
    await models.fill('abc')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Delete')
    await expect.poll(() => models.inputValue()).toBe('ab')
  })
})

describe('an existing channel', () => {
  let id: number
  beforeEach(async () => {
    const body = {
      name: '已有',
      type: 1,
      key: 'sk-secret',
      base_url: upstream.url,
      models: 'gpt-4o',
      group: 'default,vip',
      priority: 7,
      weight: 3,
    }
    await create(body)
    id = (await newest()).id
    await page.goto(`${visit.gatehouse.url}/channel/edit/${id}`)
    await button('保存').waitFor()
  })

  test('hides its key, keeps it, and sends only changed fields', async () => {
    await expectText('已设置，留空表示不变')
    await settled(page)
    await expect.poll(() => form().locator('input[type=password]').inputValue()).toBe('')
    expect(await page.content()).not.toContain('sk-secret')
    await expect.poll(() => button('保存').isDisabled()).toBe(true)
    await field('名称').fill('改名')
    await expectText('1 处未保存：名称')
    await Promise.all([expectText('渠道更新成功！'), submit('保存')])
    expect(await newest()).toMatchObject({
      id,
      name: '改名',
      priority: 7,
      weight: 3,
      key_set: true,
    })
  })

  test('a new address requires the key again', async () => {
    await field('接口地址（Base URL）').fill('https://other.example.com')
    await expectText('类型或地址已更改：密钥只会发往当初填写的地方，请重新填写')
    await button('保存').click()
    await expectText('类型或地址已更改，请重新填写密钥')
    await form().locator('input[type=password]').fill('sk-new')
    await submit('保存')
    expect(await newest()).toMatchObject({ base_url: 'https://other.example.com' })
  })

  test('header and parameter overrides are stored, not shown, and can be removed', async () => {
    await field('请求头覆盖').fill('{"X-Team": 1}')
    await button('保存').click()
    await expectText('请求头覆盖须是 JSON 对象，值为字符串')
    await field('请求头覆盖').fill('{"X-Team": "blue-secret"}')
    await field('参数覆盖').fill('{"temperature": 0.7}')
    await submit('保存')
    expect(await newest()).toMatchObject({
      config: '{"header_override":"","param_override":{"temperature":0.7}}',
      config_set: ['header_override'],
    })
    await page.goto(`${visit.gatehouse.url}/channel/edit/${id}`)
    await button('移除 请求头覆盖').waitFor()
    await settled(page)
    expect(await page.content()).not.toContain('blue-secret')
    await button('移除 请求头覆盖').click()
    await field('参数覆盖').fill('')
    await submit('保存')
    expect(await newest()).toMatchObject({ config: '{}', config_set: [] })
  })

  test('its models are fetched with the stored key', async () => {
    await button('从上游获取').click()
    await expectText('上游提供 1 个模型，新填入 1 个')
    expect(upstream.seen().at(-1)?.headers['authorization']).toBe('Bearer sk-secret')
  })

  test('can be copied to a new one, without its key', async () => {
    await page.getByRole('link', { name: '复制为新渠道', exact: true }).click()
    await button('创建').waitFor()
    await expect.poll(() => field('名称').inputValue()).toBe('已有 副本')
    await form().locator('input[type=password]').fill('sk-copy')
    await submit()
    const copy = await newest()
    expect(copy).toMatchObject({ name: '已有 副本', group: 'default,vip', models: 'gpt-4o' })
    expect(copy.id).toBeGreaterThan(id)
  })

  test('a deleted channel shows an error', async () => {
    await page.goto(`${visit.gatehouse.url}/channel/edit/999999`)
    await expectText('没有找到该记录')
  })
})

test('several keys of a channel are listed, added and removed, and never shown', async () => {
  const keys = page.getByRole('list', { name: '各个密钥' }).getByRole('listitem')
  await openForm()
  await field('名称').fill('多密钥')
  await addModel('m')
  await form().getByRole('switch').click()
  await field('密钥').fill('sk-the-first-0001\nsk-the-second-0002')
  await button('同一个渠道，轮流使用').click()
  await expectText('一个渠道，含 2 个密钥')
  await submit()
  const { id, key_count } = await newest()
  expect(key_count).toBe(2)
  await page.goto(`${visit.gatehouse.url}/channel/edit/${id}`)
  await expect.poll(() => keys.count()).toBe(2)
  await expect.poll(() => keys.first().innerText()).toMatch(/…0001\s+使用中/)
  expect(await page.content()).not.toContain('sk-the')
  await button('追加到已有的密钥').click()
  await field('密钥').fill('sk-the-third-0003')
  await submit('保存')
  expect(await newest()).toMatchObject({ id, key_count: 3 })
  await page.goto(`${visit.gatehouse.url}/channel/edit/${id}`)
  const act = (name: string) => keys.first().getByRole('button', { name, exact: true })
  await act('暂停').click()
  await expect.poll(() => keys.first().innerText()).toMatch(/…0001\s+已手动暂停/)
  await keys.nth(1).getByRole('button', { name: '暂停', exact: true }).click()
  await expect.poll(() => keys.last().getByRole('button', { name: '暂停' }).isDisabled()).toBe(true)
  await button('全部恢复').click()
  await expect.poll(() => keys.nth(1).innerText()).toContain('使用中')
  await act('移除').click()
  await page.getByRole('button', { name: '移除密钥', exact: true }).click()
  await expect.poll(() => keys.count()).toBe(2)
  await expect.poll(() => keys.first().innerText()).toContain('…0002')
})

test('a channel of a retired type can be viewed but not created', async () => {
  const body = { name: 'PaLM', type: 11, key: 'k', models: 'PaLM-2' }
  await create(body)
  const { id } = await newest()
  await page.goto(`${visit.gatehouse.url}/channel/edit/${id}`)
  await expectText('这个类型的服务已经停止')
  await expect.poll(() => field('名称').isDisabled()).toBe(true)
  await expect.poll(() => button('保存').isDisabled()).toBe(true)
  await openForm()
  await field('类型').click()
  const option = page.getByRole('option', { name: 'PaLM2', exact: true })
  await expect.poll(() => option.getAttribute('data-combobox-disabled')).toBe('true')
})

test('uses the model lists of an earlier visit if loading fails', async () => {
  const { page: second, context } = await visit.open('/channel/add', visit.root)
  const fill = second.getByRole('button', { name: '填入相关模型', exact: true })
  await expect.poll(() => fill.isEnabled()).toBe(true)
  await context.route('**/api/models', (route) =>
    route.fulfill({ json: { success: false, message: '维护中' } }),
  )
  await second.reload()
  await expectSeen(second.getByText('维护中'))
  await fill.click()
  await expectSeen(second.getByText(/^已选 \d+ 个$/))
  await context.close()
})

test('an unknown type keeps its number', async () => {
  const body = { name: '未知', type: 999, key: 'k', models: 'm', base_url: 'https://a.example' }
  await create(body)
  const { id } = await newest()
  await page.goto(`${visit.gatehouse.url}/channel/edit/${id}`)
  await button('保存').waitFor()
  await expect.poll(() => field('类型').inputValue()).toBe('未知类型 999')
  await field('权重').fill('2')
  await submit('保存')
  expect(await newest()).toMatchObject({ type: 999, weight: 2 })
  // An empty number is not sent; the placeholder shows the stored value.
  await page.goto(`${visit.gatehouse.url}/channel/edit/${id}`)
  await field('权重').fill('')
  await expect.poll(() => field('权重').getAttribute('placeholder')).toBe('2')
})
