/**
 * Descriptions of models for clients: `GET /v1/models`, `GET /v1/models/:model` and the console's
 * `GET /api/channel/models`. They are constant except for the owner.
 */
import { vendors } from '../relay/vendors/list.ts'
import { byOwnerRank } from '../relay/vendors/vendor.ts'

interface ModelPermission {
  readonly id: string
  readonly object: 'model_permission'
  readonly created: number
  readonly allow_create_engine: boolean
  readonly allow_sampling: boolean
  readonly allow_logprobs: boolean
  readonly allow_search_indices: boolean
  readonly allow_view: boolean
  readonly allow_fine_tuning: boolean
  readonly organization: string
  readonly group: null
  readonly is_blocking: boolean
}

export interface ModelDescription {
  readonly id: string
  readonly object: 'model'
  /** Epoch seconds; the same for every model, as in One API. */
  readonly created: number
  /** Original vendor; `custom` for a model only the operator has configured. */
  readonly owned_by: string
  /** One constant element; `null` for a model only the operator has configured. */
  readonly permission: ModelPermission[] | null
  readonly root: string
  readonly parent: null
}

const CREATED_SECONDS = 1_626_777_600

const permission: ModelPermission = {
  id: 'modelperm-LwHkVFn8AcMItP432fKKDIKJ',
  object: 'model_permission',
  created: CREATED_SECONDS,
  allow_create_engine: true,
  allow_sampling: true,
  allow_logprobs: true,
  allow_search_indices: false,
  allow_view: true,
  allow_fine_tuning: false,
  organization: '*',
  group: null,
  is_blocking: false,
}

/** Owners by rank: a model that several vendors list belongs to the first. */
const owners = byOwnerRank(vendors).flatMap(({ owner, models = [], formerModels = [] }) =>
  owner === undefined ? [] : [{ owner, models, formerModels }],
)

function describe(id: string, owner: string | null): ModelDescription {
  return {
    id,
    object: 'model',
    created: CREATED_SECONDS,
    owned_by: owner ?? 'custom',
    permission: owner === null ? null : [permission],
    root: id,
    parent: null,
  }
}

let catalogue: ReadonlyMap<string, ModelDescription> | undefined

/** Built once, on first use. */
function knownById(): ReadonlyMap<string, ModelDescription> {
  if (catalogue) return catalogue
  const models = new Map<string, ModelDescription>()
  for (const { owner, models: listed } of owners) {
    for (const id of listed) {
      if (!models.has(id)) models.set(id, describe(id, owner))
    }
  }
  catalogue = models
  return models
}

/** Returns every model known by name, makers' models first. */
export const knownModels = (): ModelDescription[] => [...knownById().values()]

/** Returns a model known by name, or `undefined`. */
export function knownModel(id: string): ModelDescription | undefined {
  const known = knownById().get(id)
  if (known !== undefined) return known
  const former = owners.find(({ formerModels }) => formerModels.includes(id))
  return former === undefined ? undefined : describe(id, former.owner)
}

/**
 * Returns descriptions of these models without duplicates: known ones in the catalog's order, then
 * the others in the given order.
 */
export function describeModels(ids: Iterable<string>): ModelDescription[] {
  const known = knownById()
  const wanted = new Set(ids)
  const ours = [...known.values()].filter((model) => wanted.has(model.id))
  const others = [...wanted].filter((id) => !known.has(id))
  return [...ours, ...others.map((id) => knownModel(id) ?? describe(id, null))]
}
