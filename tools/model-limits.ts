/**
 * `npm run model-limits -- <models.json>`: writes `src/server/relay/models/model-limits.json` from
 * a snapshot of the public data set models.dev (https://github.com/anomalyco/models.dev, MIT).
 * Shape of the snapshot: `{source, providers: {<provider>: {models: {<id>: …}}}, models: {…}}`; a
 * model with `base_model` inherits from `models`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { modelKey } from '../src/server/relay/models/model-key.ts'

interface SnapshotModel {
  base_model?: string
  limit?: { context?: number; output?: number }
  modalities?: { output?: string[] }
}

interface Snapshot {
  source: string
  providers: Record<string, { models: Record<string, SnapshotModel> }>
  models: Record<string, SnapshotModel>
}

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('usage: npm run model-limits -- <models.json>')
// The shape is the one above; what is missing in it shows in the test of the written file.
const snapshot = JSON.parse(readFileSync(path, 'utf8')) as Snapshot

const highest = new Map<string, [output: number, context: number]>()
for (const { models } of Object.values(snapshot.providers)) {
  for (const [id, own] of Object.entries(models)) {
    const base = own.base_model === undefined ? undefined : snapshot.models[own.base_model]
    const { output = 0, context = 0 } = { ...base?.limit, ...own.limit }
    const modalities = (own.modalities ?? base?.modalities)?.output ?? ['text']
    // What embeds has a "limit" that counts dimensions.
    if (output === 0 || !modalities.includes('text') || /embed/.test(id)) continue
    const key = modelKey(id)
    const known = highest.get(key) ?? [0, 0]
    highest.set(key, [Math.max(known[0], output), Math.max(known[1], context)])
  }
}

const rows = [...highest]
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(([key, limits]) => `  ${JSON.stringify(key)}: ${JSON.stringify(limits)}`)
writeFileSync(
  join(import.meta.dirname, '../src/server/relay/models/model-limits.json'),
  `{\n"source": ${JSON.stringify(snapshot.source)},\n"limits": {\n${rows.join(',\n')}\n}}\n`,
)
