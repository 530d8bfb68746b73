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

test('every page is generated', () => {
  const stored = readdirSync(join(import.meta.dirname, '../docs/providers'))
  const written = [...pages.keys()].map((path) => path.replace('docs/providers/', ''))
  expect(stored.toSorted()).toEqual(written.toSorted())
})

test('the supported tasks follow from the providers’ addresses', () => {
  const overview = pages.get('docs/providers/README.md') ?? ''
  expect(overview).toMatch(/\| 30 \| \[Ollama\]\(ollama\.md\) \|.*\| chat, embeddings \|/)
  expect(overview).toMatch(/\| 46 \|.*\| chat, images \|/)
})
