/**
 * `npm run provider-docs`: writes docs/providers anew from the rows of the channel types, from what
 * the providers have addresses for, and from the notes beside this file.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  channelTypesInListOrder,
  composeKey,
  type ChannelType,
} from '../src/contract/channel-types.ts'
import { upstreamDialects } from '../src/server/relay/conversion/dialects.ts'
import { OPENAI_NAMES } from '../src/server/relay/dialect/field-names.ts'
import { providerOf } from '../src/server/relay/providers/providers.ts'
import type { Task } from '../src/server/relay/dialect/provider.ts'
import { providerNotes, type ProviderNotes } from './provider-notes.ts'

const FOLDER = 'docs/providers'
const NAMES: readonly [task: Task, label: string][] = [
  ['chat', 'chat'],
  ['completions', 'completions'],
  ['embeddings', 'embeddings'],
  ['rerank', 'ranking'],
  ['images', 'pictures'],
  ['speech', 'speech'],
  ['transcriptions', 'transcription'],
  ['moderations', 'moderation'],
  ['responses', 'responses'],
]
/** Some protocols ask the model where it is: those that each of them knows for the task. */
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
/** Replicate knows models by their owners only. */
const USUAL_MODELS = ['model', 'owner/name']
const SAMPLES = { region: 'us-east-1', vertex_ai_project_id: 'project', vertex_ai_adc: '{}' }

/** What channels of this type can be asked for. */
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

/** Models by which a vendor's lists of what it lacks differ. */
const LACKING_MODELS = ['model', 'grok-4.5']

/** The parameters that are left out for the type, as OpenAI's chat names them. */
function leftOut({ type }: ChannelType): string {
  const lacks = LACKING_MODELS.flatMap((model) => {
    const provider = providerOf(type, model, 'chat')
    if (provider === null) return []
    return [...(upstreamDialects[provider.dialect].lacks ?? []), ...(provider.lacks ?? [])]
  })
  const names = lacks.flatMap((field) => OPENAI_NAMES[field])
  return [...new Set(names)].map((name) => `\`${name}\``).join(', ')
}

const slugOf = ({ label }: ChannelType): string =>
  label.en
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

/** A bar within a cell would end it. */
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

/** Whether an upstream of OpenAI's dialect has all of its tasks, nobody here can know. */
function worksOf(row: ChannelType): string {
  if (row.retired) return 'ended by its maker'
  if (row.protocol === 'openai') return 'what the upstream has of OpenAI’s paths'
  if (row.protocol === 'proxy') return 'everything, passed on as it is'
  return tasksOf(row).join(', ') || 'not spoken with yet'
}

function overview(): string {
  const rows = channelTypesInListOrder.map((row) => {
    const name =
      row.protocol in providerNotes ? `[${row.label.en}](${slugOf(row)}.md)` : row.label.en
    const works = worksOf(row)
    return [String(row.type), name, row.protocol, row.baseUrl || '–', keyText(row), works]
  })
  const lacking = channelTypesInListOrder
    .filter((row) => !row.retired && leftOut(row) !== '')
    .map((row) => [String(row.type), row.label.en, leftOut(row)])
  return `# Channel types

Written by \`npm run provider-docs\`. What a channel can be asked for is what its provider has an address for here;
whether the model behind it answers is the upstream's affair. All chat can be streamed. How clients of one dialect reach
channels of another: \`docs/dialects.md\`.

${table(['type', 'name', 'protocol', 'address', 'key', 'can be asked for'], rows)}

## Parameters that are left out

Parameters that only steer the answer and that the upstream does not have, as OpenAI's chat names them. They are left out
with a note (\`docs/dialects.md\`), but for \`stop\`, at which converted answers are cut here. Types that are not listed
have all of them.

${table(['type', 'name', 'left out'], lacking)}
`
}

function pageOf(row: ChannelType, { source, chat, notes }: ProviderNotes): string {
  const fields = row.fields.map((field) => [
    field.label.en,
    `\`${field.config}\``,
    field.required ? 'required' : 'optional',
    field.secret ? 'never shown again' : field.placeholder || '–',
  ])
  const isComposed = row.key.composedOf.length > 0
  return `# ${row.label.en}

Written by \`npm run provider-docs\`. Channel type ${row.type}, protocol \`${row.protocol}\`.

- Address: ${addressText(row)}
- Key: ${keyText(row)}${isComposed ? ', composed of the fields below' : ''}
- Can be asked for: ${tasksOf(row).join(', ')}; chat whole and streamed
- Source of the protocol: ${source}

${fields.length === 0 ? '' : `${table(['field', 'member of `config`', 'must it be there', 'example'], fields)}\n\n`}## Chat

${table(['what', 'how'], Object.entries(chat))}

Left out with a note, as OpenAI's chat names it: ${leftOut(row) || 'nothing'} (\`docs/dialects.md\`, "Parameters that are left
out").
${notes.length === 0 ? '' : `\n## Good to know\n\n${notes.map((note) => `- ${note}`).join('\n')}\n`}`
}

/** Every page by its path from the root of the project. */
export function providerPages(): ReadonlyMap<string, string> {
  const pages = new Map([[`${FOLDER}/README.md`, overview()]])
  for (const row of channelTypesInListOrder) {
    const notes = providerNotes[row.protocol]
    if (notes !== undefined) pages.set(`${FOLDER}/${slugOf(row)}.md`, pageOf(row, notes))
  }
  return pages
}

if (import.meta.main) {
  for (const [path, text] of providerPages()) {
    const place = join(import.meta.dirname, '..', path)
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, text)
  }
  console.log(`${FOLDER} was written`)
}

/** The page as it lies there; null: there is none. */
export function storedPage(path: string): string | null {
  try {
    return readFileSync(join(import.meta.dirname, '..', path), 'utf8')
  } catch {
    return null
  }
}
