import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { providerPages, storedPage } from './provider-docs.ts'

const pages = providerPages()

test.each([...pages])(
  '%s matches the vendors’ declarations; if not, run npm run vendors',
  (path, text) => {
    expect(storedPage(path)).toBe(text)
  },
)

test.each(['zh', 'en'])('%s: every page is generated', (language) => {
  const folder = `docs/manual/${language}/providers/`
  const stored = readdirSync(join(import.meta.dirname, '..', folder))
  const written = [...pages.keys()].filter((path) => path.startsWith(folder))
  expect(stored.map((name) => folder + name).toSorted()).toEqual(written.toSorted())
})

test('the supported tasks follow from the providers’ addresses', () => {
  const overview = pages.get('docs/manual/en/providers/index.md') ?? ''
  expect(overview).toMatch(/\| 30 \| \[Ollama\]\(ollama\.md\) \|.*\| chat, embeddings \|/)
  expect(overview).toMatch(/\| 46 \|.*\| chat, images \|/)
  expect(pages.get('docs/manual/zh/providers/index.md')).toMatch(/\| 30 \|.*\| 聊天、向量 \|/)
})
