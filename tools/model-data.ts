/**
 * `npm run model-data -- <file>`: writes `src/server/model/model-data.json` from a snapshot of the
 * public data set models.dev (https://github.com/anomalyco/models.dev, MIT), or from its
 * `api.json`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSnapshot } from '../src/server/model/snapshot.ts'
import { isReachedVendor } from '../src/server/model/vendors.ts'

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('usage: npm run model-data -- <models.json>')
// `readSnapshot` validates the shape.
const snapshot = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
const { source } = snapshot
const named = typeof source === 'string' ? source : 'models.dev'
const data = readSnapshot(snapshot, named, isReachedVendor)
if (data === null) throw new Error(`${path} is not a snapshot of models.dev`)

/** One line per model, so that an update gives a readable diff. */
const lines = (entries: object): string =>
  Object.entries(entries)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    .join(',\n')

const vendors = Object.entries(data.vendors).map(
  ([vendor, models]) => `${JSON.stringify(vendor)}:{\n${lines(models)}\n}`,
)
writeFileSync(
  join(import.meta.dirname, '../src/server/model/model-data.json'),
  `{\n"source":${JSON.stringify(data.source)},\n"models":{\n${lines(data.models)}\n},\n"vendors":{\n${vendors.join(',\n')}\n}\n}\n`,
)
