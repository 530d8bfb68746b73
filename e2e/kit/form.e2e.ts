import { expect, test } from 'vitest'
import { focused, useGallery } from './gallery-page.ts'

const open = useGallery('form')

test('a field that is wrong gets the focus, and its sentence is read with it', async () => {
  const { page, reported } = await open()
  const name = page.getByLabel('名称', { exact: false }).first()
  await page.getByRole('button', { name: '保存' }).click()
  await expect.poll(() => name.getAttribute('aria-invalid')).toBe('true')
  await expect.poll(() => focused(page)).toContain('名称')
  const described = await name.getAttribute('aria-describedby')
  const texts = await Promise.all(
    (described ?? '').split(' ').map((id) => page.locator(`[id="${id}"]`).innerText()),
  )
  expect(texts).toEqual(['给人看的', '请填写名称'])
  await expect.poll(() => name.getAttribute('aria-required')).toBe('true')
  await expect.poll(() => reported()).toBe('')
})

test('what is filled in is sent by Enter, with what changed beside the button', async () => {
  const { page, reported } = await open()
  await expect.poll(() => page.getByText('没有修改').count()).toBe(1)
  await page.getByLabel('名称', { exact: false }).first().fill('梨')
  await page.getByText('1 处未保存：名称 空 → 梨').waitFor()
  await page.getByLabel('密钥').first().fill('sk-1')
  await page.getByRole('switch').press('Space')
  await page.getByLabel('名称', { exact: false }).first().press('Enter')
  await expect.poll(reported).toBe('{"name":"梨","secret":"sk-1","tags":[],"isOn":true}')
})

test('a refusal of the server stands at the button until something is changed', async () => {
  const { page } = await open()
  const name = page.getByLabel('名称', { exact: false }).first()
  await name.fill('taken')
  await page.getByRole('button', { name: '保存' }).click()
  await page.getByText('名称已存在').waitFor()
  await name.fill('free')
  await expect.poll(() => page.getByText('名称已存在').count()).toBe(0)
})

test('giving up puts the old value back, and the button keeps the focus', async () => {
  const { page } = await open()
  await page.getByLabel('名称', { exact: false }).first().fill('x')
  await page.getByRole('button', { name: '取消' }).click()
  await expect.poll(() => page.getByLabel('名称', { exact: false }).first().inputValue()).toBe('')
  await expect.poll(() => focused(page)).toBe('取消')
})

test('a secret is hidden until it is looked at', async () => {
  const { page } = await open()
  const secret = page.getByLabel('密钥').first()
  await secret.fill('sk-1')
  await expect.poll(() => secret.getAttribute('type')).toBe('password')
  await page.getByRole('button', { name: '显示密钥' }).click()
  await expect.poll(() => secret.getAttribute('type')).toBe('text')
  const plain = page.getByLabel('密码')
  await expect.poll(() => plain.getAttribute('type')).toBe('password')
  await page.getByRole('button', { name: '显示', exact: true }).click()
  await expect.poll(() => plain.getAttribute('type')).toBe('text')
})

test('tags are typed, pasted with commas, marked and taken out by keyboard', async () => {
  const { page, reported } = await open()
  await page.getByLabel('名称', { exact: false }).first().fill('n')
  const tags = page.getByLabel('模型')
  await tags.click()
  await tags.pressSequentially('a,b，c ')
  await tags.press('ArrowLeft')
  await tags.press('ArrowLeft')
  await tags.press('Delete')
  await page.getByText('已移除 b，c，第 2 个，共 2 个').waitFor()
  await page.getByRole('button', { name: '保存' }).click()
  await expect.poll(reported).toContain('"tags":["a","c"]')
})
