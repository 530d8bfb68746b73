/**
 * Mutation test: draws random mutants of an area of the sources, runs the area's tests against
 * each, and prints the surviving mutants. Run by hand, on committed sources:
 *
 * `node tools/mutation-sample.ts [--areas ledger,routing] [--seed 1] [--count 100] [--minutes 15]`
 *
 * Works in a copy of the last commit. `--commit` names another one, `--list` only prints the draw.
 * Needs a quiet machine: tests that take three times as long as usual count as having noticed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { parseAst } from 'rolldown/parseAst'
import { startPostgresCluster } from './postgres-cluster.ts'

interface Area {
  folder: string
  /** Parts of the paths of the test files that must notice. */
  tests: readonly string[]
}

const AREAS: Record<string, Area> = {
  ledger: {
    folder: 'src/server/ledger',
    tests: ['src/server/ledger/', 'src/server/limit/', 'src/server/relay/charging'],
  },
  routing: {
    folder: 'src/server/relay/routing',
    tests: ['src/server/relay/routing/', 'src/server/relay/retry.test.ts'],
  },
  input: {
    folder: 'src/server/http/input',
    tests: ['src/server/http/', '-hostile.test.ts', 'option-corpus.test.ts'],
  },
}

interface Mutant {
  file: string
  line: number
  what: string
  /** The file with the mutation. */
  text: string
}

type Outcome = 'killed' | 'timed out' | 'survived'

/** A node of the syntax tree (ESTree with the TypeScript nodes of oxc). */
interface Node {
  type: string
  start: number
  end: number
  [member: string]: unknown
}

const FLIPS: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
}

const CALL_FLIPS = new Map([
  ['min', 'max'],
  ['max', 'min'],
  ['some', 'every'],
  ['every', 'some'],
])

/** TypeScript nodes that contain an expression; all others are types, which are erased. */
const TRANSPARENT: ReadonlySet<string> = new Set([
  'TSAsExpression',
  'TSNonNullExpression',
  'TSSatisfiesExpression',
])

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

/** Returns the nodes of a file that run, in the order of the text. */
function nodesIn(node: Node): Node[] {
  if (node.type.startsWith('TS') && !TRANSPARENT.has(node.type)) return []
  const below = Object.values(node)
    .flat()
    .filter(isNode)
    .flatMap((child) => nodesIn(child))
  return [node, ...below]
}

interface Edit {
  start: number
  end: number
  text: string
}

/** Returns the ways to change this node so that the file still parses. */
function editsOf(node: Node, source: string): Edit[] {
  const { start, end } = node
  const own = source.slice(start, end)
  const { left, right, operator, test, property, argument, value } = node
  if (isNode(left) && isNode(right) && typeof operator === 'string') {
    const flipped = FLIPS[operator]
    const between = source.slice(left.end, right.start)
    const at = between.indexOf(operator)
    if (flipped === undefined || at === -1) return []
    return [{ start: left.end + at, end: left.end + at + operator.length, text: flipped }]
  }
  if (isNode(test) && node.type !== 'SwitchCase') {
    const text = `!(${source.slice(test.start, test.end)})`
    return [{ start: test.start, end: test.end, text }]
  }
  if (node.type === 'ExpressionStatement' && typeof node['directive'] !== 'string') {
    return [{ start, end, text: ';' }]
  }
  if (node.type === 'UnaryExpression' && operator === '!' && isNode(argument)) {
    return [{ start, end, text: source.slice(argument.start, argument.end) }]
  }
  if (node.type === 'Literal' && typeof value === 'boolean') {
    return [{ start, end, text: String(!value) }]
  }
  if (node.type === 'Literal' && typeof value === 'number') {
    return [{ start, end, text: `(${own} + 1)` }]
  }
  if (node.type === 'MemberExpression' && isNode(property) && node['computed'] === false) {
    const flipped = CALL_FLIPS.get(source.slice(property.start, property.end))
    return flipped === undefined
      ? []
      : [{ start: property.start, end: property.end, text: flipped }]
  }
  return []
}

/** Returns every mutant of a file. */
function mutantsOf(root: string, file: string): Mutant[] {
  const source = readFileSync(join(root, file), 'utf8')
  const program: unknown = parseAst(source, { lang: 'ts' })
  if (!isNode(program)) throw new Error(`${file} cannot be parsed.`)
  return nodesIn(program).flatMap((node) =>
    editsOf(node, source).map((edit) => ({
      file,
      line: source.slice(0, edit.start).split('\n').length,
      what: `${oneLine(source.slice(edit.start, edit.end))} → ${oneLine(edit.text)}`,
      text: source.slice(0, edit.start) + edit.text + source.slice(edit.end),
    })),
  )
}

const WHAT_LENGTH_MAX = 60
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').slice(0, WHAT_LENGTH_MAX)

function sourcesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('.test.'))
    .map((name) => `${folder}/${name}`)
    .toSorted()
}

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draws without repetition. */
function draw(mutants: Mutant[], count: number, random: () => number): Mutant[] {
  const rest = [...mutants]
  return Array.from(
    { length: Math.min(count, rest.length) },
    () => rest.splice(Math.floor(random() * rest.length), 1)[0],
  ).filter((mutant) => mutant !== undefined)
}

/** Copies a commit, so that no mutant appears in the working tree. */
function copyOfCommit(commit: string): string {
  const root = mkdtempSync(join(tmpdir(), 'gatehouse-mutants-'))
  const archive = spawnSync('git', ['archive', commit], { maxBuffer: 2 ** 30 })
  if (archive.status !== 0) throw new Error(String(archive.stderr))
  spawnSync('tar', ['-x', '-C', root], { input: archive.stdout })
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
  return root
}

interface Run {
  files: string[]
  databaseUrl: string
  /** Milliseconds after which it is ended. */
  msMax: number
}

/** Runs test files up to the first failure. */
function outcomeOf(root: string, { files, databaseUrl, msMax }: Run): Promise<Outcome> {
  const options = ['run', '--bail', '1', '--reporter', 'dot', ...files]
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...options], {
    cwd: root,
    stdio: 'ignore',
    detached: true,
    env: { ...process.env, TEST_POSTGRES_URL: databaseUrl },
  })
  return new Promise((done, fail) => {
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      done('timed out')
    }, msMax)
    child.once('error', fail)
    child.once('close', (code) => {
      clearTimeout(timer)
      done(code === 0 ? 'survived' : 'killed')
    })
  })
}

const testsOf = (root: string, area: Area): string[] =>
  readdirSync(join(root, 'src/server'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/server/${name}`)
    .filter((path) => path.endsWith('.test.ts') && area.tests.some((part) => path.includes(part)))

/** The tests beside the source first: they are quick, and most likely to notice. */
async function judge(root: string, mutant: Mutant, area: Area, run: Omit<Run, 'files'>) {
  const noun = basename(mutant.file, '.ts')
  const all = testsOf(root, area)
  const near = all.filter((path) => path.startsWith(`${dirname(mutant.file)}/${noun}`))
  const path = join(root, mutant.file)
  const original = readFileSync(path)
  writeFileSync(path, mutant.text)
  try {
    const first = near.length === 0 ? 'survived' : await outcomeOf(root, { ...run, files: near })
    if (first !== 'survived') return first
    const files = all.filter((file) => !near.includes(file))
    return await outcomeOf(root, { ...run, files })
  } finally {
    writeFileSync(path, original)
  }
}

const UNMUTATED_MS_MAX = 600_000
/** A mutant that makes the tests this much slower has been noticed. */
const SLOWER = 3

/**
 * Returns how many milliseconds the tests of an area may take with a mutant. Throws if they fail
 * without one: then mutants prove nothing.
 */
async function msMaxOf(root: string, area: Area, databaseUrl: string): Promise<number> {
  const began = performance.now()
  const run = { files: testsOf(root, area), databaseUrl, msMax: UNMUTATED_MS_MAX }
  const outcome = await outcomeOf(root, run)
  if (outcome !== 'survived') throw new Error(`The tests of ${area.folder} fail as they are.`)
  return SLOWER * (performance.now() - began)
}

const { values } = parseArgs({
  options: {
    areas: { type: 'string', default: 'ledger,routing' },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '15' },
    commit: { type: 'string', default: 'HEAD' },
    list: { type: 'boolean', default: false },
  },
})

const root = copyOfCommit(values.commit)
const cluster = values.list ? null : await startPostgresCluster()
try {
  const areas = values.areas.split(',').map((name) => AREAS[name] ?? failUnknown(name))
  const mutants = areas.flatMap(({ folder }) =>
    sourcesIn(root, folder).flatMap((file) => mutantsOf(root, file)),
  )
  const drawn = draw(mutants, Number(values.count), seededRandom(Number(values.seed)))
  const counts: Record<Outcome, number> = { killed: 0, survived: 0, 'timed out': 0 }
  const limits = new Map<Area, number>()
  if (cluster !== null) {
    for (const area of areas) limits.set(area, await msMaxOf(root, area, cluster.url))
  }
  const deadline = performance.now() + Number(values.minutes) * 60_000
  for (const mutant of drawn) {
    const name = `${mutant.file}:${mutant.line}  ${mutant.what}`
    if (cluster === null) {
      console.log(name)
      continue
    }
    if (performance.now() > deadline) break
    const area = areas.find(({ folder }) => mutant.file.startsWith(`${folder}/`))
    if (area === undefined) continue
    const msMax = limits.get(area) ?? UNMUTATED_MS_MAX
    const outcome = await judge(root, mutant, area, { databaseUrl: cluster.url, msMax })
    counts[outcome] += 1
    console.log(`${outcome.padEnd(9)}  ${name}`)
  }
  const tried = counts.killed + counts['timed out'] + counts.survived
  console.log(
    `${counts.killed} of ${tried} killed, ${counts['timed out']} timed out` +
      ` (${mutants.length} possible, ${drawn.length} drawn, seed ${values.seed})`,
  )
} finally {
  await cluster?.stop()
  rmSync(root, { recursive: true, force: true })
}

function failUnknown(name: string): never {
  throw new Error(`There is no area ${name}: it is one of ${Object.keys(AREAS).join(', ')}.`)
}
