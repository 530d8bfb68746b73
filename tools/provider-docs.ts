/**
 * The second half of `npm run vendors`: writes `docs/providers/` from the vendors' declarations and
 * their providers' addresses.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  channelTypesInListOrder,
  composeKey,
  type ChannelType,
} from '../src/contract/channel-types.ts'
import { dialectOf } from '../src/server/relay/conversion/dialects.ts'
import { OPENAI_NAMES } from '../src/server/relay/dialect/field-names.ts'
import type { Task } from '../src/server/relay/dialect/provider.ts'
import { providerOf } from '../src/server/relay/vendors/registry.ts'
import { vendorOf } from '../src/server/relay/vendors/registry.ts'
import { OPENAI_CHAT } from '../src/server/relay/vendors/vendor.ts'

const FOLDER = 'docs/providers'
const NAMES: readonly [task: Task, label: string][] = [
  ['chat', 'chat'],
  ['completions', 'completions'],
  ['embeddings', 'embeddings'],
  ['rerank', 'reranking'],
  ['images', 'images'],
  ['speech', 'speech'],
  ['transcriptions', 'transcription'],
  ['moderations', 'moderation'],
  ['responses', 'responses'],
]
/** Sample models for protocols whose address depends on the model, by task. */
const MODELS: Readonly<Partial<Record<Task, readonly string[]>>> = {
  embeddings: ['amazon.titan-embed-text-v2:0', 'bge-large-zh'],
  rerank: [
    'rerank-v3.5',
    'bce-reranker-base',
    'cohere.rerank-v3-5:0',
    '@cf/baai/bge-reranker-base',
  ],
  images: ['google/imagen-4', 'amazon.nova-canvas-v1:0', '@cf/leonardo/phoenix-1.0'],
  speech: ['model', 'qwen3-tts-flash'],
  transcriptions: ['model', 'qwen3-asr-flash', '@cf/openai/whisper'],
}
/** Replicate requires names with an owner. */
const USUAL_MODELS = ['model', 'owner/name']
const SAMPLES = { region: 'us-east-1', vertex_ai_project_id: 'project', vertex_ai_adc: '{}' }

/** Tasks that channels of this type support. */
function tasksOf(row: ChannelType): string[] {
  const { type } = row
  const composed = composeKey(type, { ...SAMPLES, ak: 'ak', sk: 'sk' })
  const key = composed || row.key.parts.join(row.key.separator)
  const baseUrl = row.baseUrl === '' ? 'https://example.com' : ''
  const hasTask = (task: Task, model: string): boolean => {
    const channel = { type, key, baseUrl, apiVersion: '', config: { user_id: 'account' } }
    const call = {
      task,
      model,
      isStream: false,
      clientQuery: new URLSearchParams(),
      clientHeaders: {},
      ownAddress: '',
    }
    return (providerOf(type, model, task)?.url(channel, call) ?? null) !== null
  }
  return NAMES.filter(([task]) =>
    (MODELS[task] ?? USUAL_MODELS).some((model) => hasTask(task, model)),
  ).map(([, label]) => label)
}

/** Sample models with different sets of unsupported parameters. */
const LACKING_MODELS = ['model', 'grok-4.5']

/** Parameters that are dropped for the type, by their names in OpenAI's chat completions. */
function leftOut({ type }: ChannelType): string {
  const lacks = LACKING_MODELS.flatMap((model) => {
    const provider = providerOf(type, model, 'chat')
    if (provider === null) return []
    return [...(dialectOf(provider).lacks ?? []), ...(provider.lacks ?? [])]
  })
  const names = lacks.flatMap((field) => OPENAI_NAMES[field])
  return [...new Set(names)].map((name) => `\`${name}\``).join(', ')
}

const slugOf = ({ label }: ChannelType): string =>
  label.en
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

/** A bar in a cell would end it. */
const rowOf = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [rowOf(head), rowOf(head.map(() => '---')), ...rows.map(rowOf)].join('\n')

const keyText = ({ key }: ChannelType): string =>
  key.parts.length === 1 ? 'one secret' : `\`${key.parts.join(key.separator)}\``

function addressText({ baseUrl, baseUrlField }: ChannelType): string {
  if (baseUrl !== '') return `\`${baseUrl}\`, or the channel's own`
  return baseUrlField.mode === 'required' ? 'the channel’s own' : 'from the channel’s fields'
}

/** Supported tasks. For upstreams with OpenAI's dialect these are unknown here. */
function worksOf(row: ChannelType): string {
  if (row.retired) return 'none: the vendor has ended the service'
  if (row.protocol === 'openai') return 'those of OpenAI’s paths that the upstream supports'
  if (row.protocol === 'proxy') return 'all requests, passed through unchanged'
  return tasksOf(row).join(', ') || 'not supported yet'
}

function overview(): string {
  const rows = channelTypesInListOrder.map((row) => {
    const name = `[${row.label.en}](${slugOf(row)}.md)`
    const works = worksOf(row)
    return [String(row.type), name, row.protocol, row.baseUrl || '–', keyText(row), works]
  })
  const lacking = channelTypesInListOrder
    .filter((row) => !row.retired && leftOut(row) !== '')
    .map((row) => [String(row.type), row.label.en, leftOut(row)])
  return `# Channel types

Generated by \`npm run vendors\`. A task is listed if Gatehouse has an address for it at the provider; whether a model
supports it depends on the upstream. All chat can be streamed. \`docs/dialects.md\` describes how clients of one dialect
use channels of another.

${table(['type', 'name', 'protocol', 'address', 'key', 'tasks'], rows)}

## Parameters that are left out

Optional parameters that the upstream does not support, by their names in OpenAI's chat completions. They are dropped with
a note (\`docs/dialects.md\`), except \`stop\`, at which Gatehouse itself cuts converted responses. Types that are not
listed support all of them.

${table(['type', 'name', 'left out'], lacking)}
`
}

const UNITS = {
  usd: 'US dollars',
  cny: 'yuan',
  cny_per_10000: 'ten-thousandths of a yuan',
  quota: 'points',
} as const

/** Further facts for operators. */
function factsOf({ type, retired, balance: unit }: ChannelType): string[] {
  if (retired) return ['The service has ended: existing channels can be viewed and deleted.']
  const { modelList, models, refusals } = vendorOf(type)
  return [
    unit === null ? 'Balance: not available' : `Balance: available, in ${UNITS[unit]}`,
    `List of models: ${modelList === undefined ? 'not available' : 'available with the channel’s key'}`,
    models === undefined || models.length === 0
      ? 'Models offered for a new channel: none'
      : `Models offered for a new channel: ${models.length}`,
    ...(refusals?.hosts === undefined
      ? []
      : ['Its errors are recognized at its own hosts, whatever the channel’s type']),
  ]
}

function pageOf(row: ChannelType): string {
  const { docs = {} } = vendorOf(row.type)
  const isOpenai = row.protocol === 'openai'
  const { source, chat = isOpenai ? OPENAI_CHAT : undefined, notes = [] } = docs
  const fields = row.fields.map((field) => [
    field.label.en,
    `\`${field.config}\``,
    field.required ? 'required' : 'optional',
    field.secret ? 'write-only' : field.placeholder || '–',
  ])
  const isComposed = row.key.composedOf.length > 0
  const facts = [
    `Address: ${addressText(row)}`,
    `Key: ${keyText(row)}${isComposed ? ', composed of the fields below' : ''}`,
    `Tasks: ${worksOf(row)}`,
    ...(source === undefined ? [] : [`Source of the protocol: ${source}`]),
    ...factsOf(row),
  ]
  const sections = [
    `# ${row.label.en}`,
    `Generated by \`npm run vendors\`. Channel type ${row.type}, protocol \`${row.protocol}\`.`,
    listOf(facts),
    ...(fields.length === 0
      ? []
      : [table(['field', 'member of `config`', 'required', 'example'], fields)]),
    ...(chat === undefined || row.retired ? [] : chatSection(row, chat)),
    ...(notes.length === 0 ? [] : ['## Notes', listOf(notes)]),
  ]
  return `${sections.join('\n\n')}\n`
}

const chatSection = (row: ChannelType, chat: Readonly<Record<string, string>>): string[] => [
  '## Chat',
  table(['what', 'how'], Object.entries(chat)),
  `Dropped with a note, by their names in OpenAI's chat completions: ${leftOut(row) || 'none'} (\`docs/dialects.md\`,
"Parameters that are left out").`,
]

const listOf = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n')

/** Every page by its path relative to the project. */
export function providerPages(): ReadonlyMap<string, string> {
  const pages = new Map([[`${FOLDER}/README.md`, overview()]])
  for (const row of channelTypesInListOrder) {
    pages.set(`${FOLDER}/${slugOf(row)}.md`, pageOf(row))
  }
  return pages
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  // Removes pages of renamed vendors.
  for (const page of globSync(`${FOLDER}/*.md`, { cwd: root })) rmSync(join(root, page))
  for (const [path, text] of providerPages()) {
    const place = join(import.meta.dirname, '..', path)
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, text)
  }
  console.log(`${FOLDER} was written`)
}

/** The stored page; null if it is missing. */
export function storedPage(path: string): string | null {
  try {
    return readFileSync(join(import.meta.dirname, '..', path), 'utf8')
  } catch {
    return null
  }
}
