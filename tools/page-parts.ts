import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin, Rolldown } from 'vite'
import { patterns } from '../src/console/paths.ts'

/** The script is placed after the program itself, which must be fetched first. */
const PLACE = '</head>'
const FOLDER = 'assets/'
/** Modules around every page for signed-in users, except light pages. */
const FRAME = ['app/queries.tsx', 'app/shell/signed-in-bar.tsx']
/** A row of the route table: path, access, module, and other properties. */
const ROW =
  /path: (?:paths|patterns)\.(\w+),\s+access: '(\w+)',[^]*?import\('\.\/([^']+)'\)([^]*?)\n {2}\}/g

/** Runs in the page. Skips pages that a visitor cannot open: these redirect to the sign-in page. */
const FETCH_PARTS = `
try {
  const below = location.pathname.slice(new URL(document.baseURI).pathname.length)
  const path = '/' + below.replace(/(^|\\/)\\d+$/, '$1$id')
  const asked = pages.find(([address]) => address === path)
  const isShut = asked?.[1] === false && localStorage.getItem('user') === null
  const page = isShut ? pages.find(([address]) => address === '/login') : asked
  for (const part of page?.[2] ?? []) {
    const isStyle = files[part].endsWith('.css')
    const link = document.createElement('link')
    link.rel = isStyle ? 'preload' : 'modulepreload'
    if (isStyle) link.as = 'style'
    link.crossOrigin = ''
    link.fetchPriority = 'low'
    link.nonce = document.currentScript.nonce
    link.href = 'assets/' + files[part]
    document.head.append(link)
  }
} catch {
  // Other files are fetched when they are needed.
}
`

type Bundle = Rolldown.OutputBundle

/** Path of a page, whether visitors may open it, and the numbers of its files. */
type PageParts = [path: string, isOpen: boolean, parts: number[]]

/**
 * Adds a script to the page that preloads the files of the requested path along with the program,
 * instead of after it has started.
 */
export function pageParts(root: string): Plugin {
  return {
    name: 'page-parts',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle = {} }) =>
        html.replace(PLACE, () => `  ${script(root, bundle)}\n  ${PLACE}`),
    },
  }
}

function script(root: string, bundle: Bundle): string {
  const files: string[] = []
  const numberOf = (file: string): number => {
    const name = file.slice(FOLDER.length)
    return files.includes(name) ? files.indexOf(name) : files.push(name) - 1
  }
  const program = loadedWith(bundle, 'main.tsx')
  const routes = readFileSync(join(root, 'src/console/routes.tsx'), 'utf8')
  const pages = [...routes.matchAll(ROW)].map(([, name, access, module = '', rest = '']) => {
    const modules = rest.includes('isLight') ? [module] : [module, ...FRAME]
    const loaded = new Set(modules.flatMap((part) => [...loadedWith(bundle, part)]))
    const parts = [...loaded].filter((file) => !program.has(file)).map(numberOf)
    const path = new Map<string, string>(Object.entries(patterns)).get(name ?? '')
    if (path === undefined) throw new Error(`the route table names no path ${name}`)
    return [path, access === 'anyone', parts] satisfies PageParts
  })
  if (pages.length === 0) throw new Error('no page was found in the route table')
  return `<script nonce="%GATEHOUSE_NONCE%">{const files = ${JSON.stringify(files)}
const pages = ${JSON.stringify(pages)}${FETCH_PARTS}}</script>`
}

/** File names of a module's chunk, its static imports, and their styles. */
function loadedWith(bundle: Bundle, module: string): Set<string> {
  const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
  const found = new Set<string>()
  const add = (chunk: Rolldown.OutputChunk | undefined): void => {
    if (chunk === undefined || found.has(chunk.fileName)) return
    found.add(chunk.fileName)
    for (const style of chunk.viteMetadata?.importedCss ?? []) found.add(style)
    for (const name of chunk.imports) add(chunks.find(({ fileName }) => fileName === name))
  }
  const isWanted = (id: string) => id.endsWith(`/src/console/${module}`)
  add(chunks.find(({ moduleIds }) => moduleIds.some(isWanted)))
  return found
}
