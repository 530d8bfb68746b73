import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { fetchPublished, type PublishedFailure } from '../published-prices/published-file.ts'
import { readSnapshot, type ModelData } from './snapshot.ts'
import { isReachedVendor } from './vendors.ts'

const failed: PublishedFailure = (problemZh, problemEn, detail) =>
  new AppError('model_data_failed', { problemZh, problemEn }, detail)

/** More than ten times the size of models.dev. */
const MODELS_MAX = 20_000

const DAY_LENGTH = 'YYYY-MM-DD'.length

/** Fetches model data. Throws `model_data_failed`. */
export async function fetchModelData(
  app: Pick<App, 'egress' | 'version' | 'clock'>,
  address: string,
): Promise<ModelData> {
  const json = await fetchPublished(app, address, failed)
  const day = new Date(app.clock.nowMs()).toISOString().slice(0, DAY_LENGTH)
  const source = `${URL.parse(address)?.host ?? address} (${day})`
  const data = json === null ? null : readSnapshot(json, source, isReachedVendor)
  if (data === null) {
    throw failed(
      '响应不是 models.dev 的数据（api.json）',
      'the response is not model data of models.dev (api.json)',
    )
  }
  if (Object.keys(data.models).length > MODELS_MAX) {
    throw failed('对方的数据过大', 'the data is too large')
  }
  return data
}

export interface ModelDataDifference {
  added: string[]
  changed: string[]
  removed: string[]
}

export function compareModelData(now: ModelData, other: ModelData): ModelDataDifference {
  const [known, sent] = [describedIn(now), describedIn(other)]
  const names = [...sent.keys()].toSorted()
  return {
    added: names.filter((name) => !known.has(name)),
    changed: names.filter((name) => known.has(name) && known.get(name) !== sent.get(name)),
    removed: [...known.keys()].filter((name) => !sent.has(name)).toSorted(),
  }
}

/** Returns the data of each model, including those at its vendors, as one text. */
function describedIn({ models, vendors }: ModelData): Map<string, string> {
  const texts = new Map(
    Object.entries(models).map(([name, members]) => [name, JSON.stringify(sorted(members))]),
  )
  for (const [vendor, differing] of Object.entries(vendors)) {
    for (const [name, members] of Object.entries(differing)) {
      texts.set(name, `${texts.get(name) ?? ''} ${vendor} ${JSON.stringify(sorted(members))}`)
    }
  }
  return texts
}

/** The order of members in a file has no meaning. */
const sorted = (members: object): [string, unknown][] =>
  Object.entries(members).toSorted(([one], [other]) => (one < other ? -1 : 1))
