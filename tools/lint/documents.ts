import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const DOCUMENTS = ['*.md', 'docs/**/*.md', 'src/**/*.md', 'tools/**/*.md', 'bench/*.md']
const OUR_PATH = /`((?:src|docs|tools|bench|e2e|fixtures|\.ci)\/[^`\s…<>$]*)`/g
// oxlint-disable-next-line gatehouse/linear-pattern -- our own documents
const LINK = /\]\((?!\w+:|#)([^)\s#]+)[^)]*\)/g

/** Folders that programs write; they are in no clone. */
const PRODUCED = ['bench/results/', 'bench/results/clients/']

/** Paths that documents of the project at `root` name and that do not exist. */
export function brokenPaths(root: string): string[] {
  const exclude = ['**/node_modules/**']
  return globSync(DOCUMENTS, { cwd: root, exclude }).flatMap((path) => {
    const lines = readFileSync(join(root, path), 'utf8').split('\n')
    return lines.flatMap((line, index) => {
      const cited = [...line.matchAll(OUR_PATH)].map(([, cite = '']) => join(root, cite))
      const linked = [...line.matchAll(LINK)].map(([, link = '']) =>
        join(root, dirname(path), link),
      )
      return [...cited, ...linked]
        .filter((named) => !PRODUCED.includes(named.slice(root.length + 1)) && !exists(named))
        .map((named) => `${path}:${index + 1} names ${named.slice(root.length + 1)}`)
    })
  })
}

function exists(path: string): boolean {
  return existsSync(path) || (/[*{]/.test(path) && globSync(path).length > 0)
}
