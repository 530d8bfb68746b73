import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { manualProblems } from './manual-check.ts'
import { unexplainedCodes, withErrorFacts } from './manual-errors.ts'

const MANUAL = join(import.meta.dirname, '../docs/manual')
const errorPage = (language: string) => readFileSync(join(MANUAL, language, 'errors.md'), 'utf8')

test('the manual is equal in both languages, and its links, anchors and images exist', () => {
  expect(manualProblems(MANUAL)).toEqual([])
})

test.each(['zh', 'en'] as const)('%s: every error code is explained', (language) => {
  expect(unexplainedCodes(errorPage(language))).toEqual([])
})

test.each(['zh', 'en'] as const)(
  '%s: the facts of error codes are those of the catalogue; if not, npm run docs -- --errors',
  (language) => {
    const page = errorPage(language)
    expect(withErrorFacts(page, language)).toBe(page)
  },
)

test('a page that lacks a code, a page, a link, an anchor or an image is reported', () => {
  const folder = mkdtempSync(join(tmpdir(), 'manual-'))
  try {
    for (const part of ['zh', 'en', 'parts']) {
      cpSync(join(MANUAL, part), join(folder, part), { recursive: true })
    }
    const page = (text: string) => writeFileSync(join(folder, 'zh/faq.md'), text)
    page('# 问\n\n[a](nowhere.md) [b](install.md#nowhere)\n')
    rmSync(join(folder, 'en/glossary.md'))
    const problems = manualProblems(folder).join('\n')
    expect(problems).toContain('zh/faq.md: no page for the link nowhere.md')
    expect(problems).toContain('no heading for the link install.md#nowhere')
    expect(problems).toContain('zh/glossary.md: the other language has no such page')
    expect(problems).toMatch(/zh\/faq\.md: 1 headings, en\/faq\.md has \d+/)
    page('# 问\n\n<img src="../images/none.webp" alt="">\n')
    expect(manualProblems(folder)).toContain('zh/faq.md: images/none.webp does not exist')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const withoutOne = errorPage('en').replace(/### `no_channel`[^]*?(?=###)/, '')
  expect(unexplainedCodes(withoutOne)).toEqual(['no_channel'])
  expect(withErrorFacts(withoutOne, 'en')).toContain('### `no_channel` {#no_channel}')
})
