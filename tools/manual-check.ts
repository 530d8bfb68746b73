/** Checks the manual's sources without building them: languages, links, anchors, images. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path/posix'

const LANGUAGES = ['zh', 'en'] as const
const INCLUDE = /<!--@include: ([^-{]+?)(?:\{[^}]*\})?-->/g
// oxlint-disable-next-line gatehouse/linear-pattern -- our own documents
const FENCE = /^(`{3,}|~{3,})[^]*?^\1/gm
// oxlint-disable-next-line gatehouse/linear-pattern -- our own documents
const LINK = /\[(?:[^\]]|\\\])*\]\(([^)\s]+)[^)]*\)/g
const IMAGE = /<img [^>]*src="([^"]+)"/g

interface Page {
  /** From the manual's folder: `zh/install.md`. */
  path: string
  text: string
  headings: readonly string[]
  anchors: ReadonlySet<string>
}

/** Anchors as VitePress generates them for headings without `{#anchor}`. */
function slugOf(heading: string): string {
  return (
    heading
      .normalize('NFKD')
      .replaceAll(/[\u0300-\u036F]/g, '')
      .replaceAll(/[\s~`!@#$%^&*()\-_+=[\]{}|\\;:"'“”‘’<>,.?/]+/g, '-')
      .replaceAll(/-{2,}/g, '-')
      // oxlint-disable-next-line gatehouse/linear-pattern -- our own documents
      .replaceAll(/^-+|-+$/g, '')
      .replace(/^(\d)/, '_$1')
      .toLowerCase()
  )
}

function readPage(root: string, path: string): Page {
  const raw = readFileSync(join(root, path), 'utf8')
  const text = raw.replaceAll(FENCE, '')
  const headings = [...text.matchAll(/^#{1,3} (.+)$/gm)].map(([, heading = '']) => heading)
  const anchors = headings.map(
    (heading) => /\{#([\w-]+)\}\s*$/.exec(heading)?.[1] ?? slugOf(heading.replaceAll('`', '')),
  )
  return { path, text, headings, anchors: new Set(anchors) }
}

/** Returns a message for each problem of the manual in this folder. */
export function manualProblems(root: string): string[] {
  const pages = new Map(
    LANGUAGES.flatMap((language) => globSync(`${language}/**/*.md`, { cwd: root }))
      .map((path) => path.replaceAll('\\', '/'))
      .toSorted()
      .map((path) => [path, readPage(root, path)]),
  )
  return [...pages.values()].flatMap((page) => [
    ...differences(page, pages),
    ...brokenLinks(page, pages),
    ...missingFiles(page, root),
  ])
}

function differences(page: Page, pages: ReadonlyMap<string, Page>): string[] {
  const [language = '', ...rest] = page.path.split('/')
  const other = pages.get([language === 'zh' ? 'en' : 'zh', ...rest].join('/'))
  if (other === undefined) return [`${page.path}: the other language has no such page`]
  // The English changelog includes CHANGELOG.md; the Chinese one is a summary for users.
  const isSummary = page.path === 'zh/changelog.md'
  if (language === 'en' || isSummary || other.headings.length === page.headings.length) return []
  const counts = `${page.headings.length} headings, ${other.path} has ${other.headings.length}`
  return [`${page.path}: ${counts}`]
}

function brokenLinks(page: Page, pages: ReadonlyMap<string, Page>): string[] {
  return [...page.text.matchAll(LINK)].flatMap(([, link = '']) => {
    if (/^\w+:/.test(link)) return []
    const [path = '', anchor] = link.split('#')
    const target = pages.get(path === '' ? page.path : normalize(join(dirname(page.path), path)))
    if (target === undefined) return [`${page.path}: no page for the link ${link}`]
    return anchor === undefined || target.anchors.has(decodeURIComponent(anchor))
      ? []
      : [`${page.path}: ${target.path} has no heading for the link ${link}`]
  })
}

function missingFiles(page: Page, root: string): string[] {
  const named = [...page.text.matchAll(IMAGE), ...page.text.matchAll(INCLUDE)]
  return named
    .map(([, file = '']) => join(dirname(page.path), file.trim()))
    .filter((file) => !existsSync(join(root, file)))
    .map((file) => `${page.path}: ${file} does not exist`)
}
