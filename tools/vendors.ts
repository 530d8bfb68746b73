/**
 * `npm run vendors`: writes what is derived from the declarations in `src/server/relay/vendors/`:
 * the list of them, and the contract's numbers and rows of channel types. provider-docs.ts, which
 * follows, writes their pages.
 */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChannelTypeInput } from '../src/contract/channel-type-row.ts'
import type { Vendor } from '../src/server/relay/vendors/vendor.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = 'src/server/relay/vendors'
const LIST = `${FOLDER}/list.ts`
const NUMBERS = 'src/contract/channel-type-number.ts'
const ROWS = 'src/contract/channel-type-rows.ts'

/** A constant that declares a vendor. */
interface Declared {
  /** Of the constant. */
  name: string
  /** Of its file, in the vendors' folder. */
  path: string
  vendor: Vendor
}

const DECLARATION = /^export const (\w+) = (?:openaiVendor|nativeVendor)\(/gm

/** All declarations, in the order of the console's list. */
export async function declaredVendors(): Promise<Declared[]> {
  const declared: Declared[] = []
  for (const path of globSync('**/*.ts', { cwd: join(ROOT, FOLDER) })) {
    const place = join(ROOT, FOLDER, path)
    const found = [...readFileSync(place, 'utf8').matchAll(DECLARATION)]
    if (found.length === 0) continue
    // The declaration's type is that of the function that its constant is made by.
    const exported = (await import(place)) as Record<string, Vendor | undefined>
    for (const [, name = ''] of found) {
      const vendor = exported[name]
      if (vendor !== undefined) declared.push({ name, path, vendor })
    }
  }
  const position = ({ vendor }: Declared): number => vendor.listPosition ?? Infinity
  return declared.toSorted((a, b) => position(a) - position(b) || a.vendor.type - b.vendor.type)
}

/** The part of a declaration that the contract has, without what only the server needs. */
export function contractRow({ balance, ...vendor }: Vendor): ChannelTypeInput {
  const {
    listPosition: _position,
    provider: _provider,
    traits: _traits,
    refusals: _refusals,
    modelList: _modelList,
    models: _models,
    formerModels: _formerModels,
    owner: _owner,
    ownerRank: _ownerRank,
    priceLists: _priceLists,
    docs: _docs,
    ...row
  } = vendor
  return balance === undefined ? row : { ...row, balance: balance.unit }
}

/** A value of texts, numbers, flags, lists, objects and regular expressions as source text. */
function sourceOf(value: unknown, at: string): string {
  if (typeof value === 'function') throw new Error(`${at} is a function: the console needs data`)
  if (value instanceof RegExp) return String(value)
  if (Array.isArray(value)) return `[${value.map((one) => sourceOf(one, at)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const nameOf = (name: string): string => (/^\w+$/.test(name) ? name : JSON.stringify(name))
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${nameOf(name)}: ${sourceOf(member, `${at}.${name}`)}`)
  return `{ ${members.join(', ')} }`
}

const BY_NUMBER = (a: Declared, b: Declared): number => a.vendor.type - b.vendor.type

function numbersText(declared: readonly Declared[]): string {
  const lines = declared.toSorted(BY_NUMBER).map(({ name, vendor }) => `${name}: ${vendor.type},`)
  return `/**
 * Written by \`npm run vendors\`. The numbers of channel types by name. Those up to 51 are
 * One API's and never change.
 */
export const ChannelTypeNumber = {
${lines.join('\n')}
} as const
`
}

export function rowsText(declared: readonly Declared[]): string {
  const rows = declared.map(({ name, vendor }) => `row(${sourceOf(contractRow(vendor), name)}),`)
  return `import { row, type ChannelType } from './channel-type-row.ts'

/** Written by \`npm run vendors\`, in the order of the console's list. */
export const channelTypeRows: readonly ChannelType[] = [
${rows.join('\n')}
]
`
}

function listText(declared: readonly Declared[]): string {
  const paths = [...new Set(declared.map(({ path }) => path))].toSorted()
  const imports = paths.map((path) => {
    const names = declared.filter((one) => one.path === path).map(({ name }) => name)
    return `import { ${names.join(', ')} } from './${path}'`
  })
  return `${imports.join('\n')}
import type { Vendor } from './vendor.ts'

/** Written by \`npm run vendors\`, in the order of the console's list. */
export const vendors: readonly Vendor[] = [
${declared.map(({ name }) => `${name},`).join('\n')}
]
`
}

if (import.meta.main) {
  const declared = await declaredVendors()
  const files = { [LIST]: listText, [NUMBERS]: numbersText, [ROWS]: rowsText }
  for (const [path, write] of Object.entries(files)) {
    writeFileSync(join(ROOT, path), write(declared))
  }
  // npm has put node_modules/.bin first on the PATH.
  execFileSync('oxfmt', Object.keys(files), { cwd: ROOT, shell: process.platform === 'win32' })
  console.log(`${Object.keys(files).join(', ')} were written: ${declared.length} channel types`)
}
