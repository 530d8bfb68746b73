/**
 * How models are described to clients: `GET /v1/models`, `GET /v1/models/:model` and the
 * console's `GET /api/channel/models`. The description is fixed; only the owner differs.
 */
import { defaultModels } from './default-models.ts'

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
  /** Epoch seconds; the same for every model, as clients have always been told. */
  readonly created: number
  /** Who serves it in the first place; `custom` for a model only the operator knows. */
  readonly owned_by: string
  /** One fixed element; `null` for a model only the operator knows. */
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

/**
 * Owner names by channel type, in order of precedence: a model that several types list belongs to
 * the first. So makers stand before those who host the models of others.
 */
const ownersByType: readonly (readonly [type: number, owner: string])[] = [
  [1, 'openai'],
  [14, 'anthropic'],
  [24, 'google gemini'],
  [36, 'deepseek'],
  [45, 'xai'],
  [25, 'moonshot'],
  [28, 'mistralai'],
  [16, 'zhipu'],
  [27, 'minimax'],
  [35, 'Cohere'],
  [23, 'tencent'],
  [26, 'baichuan'],
  [32, 'stepfun'],
  [31, 'lingyiwanwu'],
  [19, '360'],
  [15, 'baidu'],
  [47, 'baiduv2'],
  [40, 'doubao'],
  [18, 'xunfei'],
  [48, 'xunfeiv2'],
  [17, 'ali'],
  [49, 'alibailian'],
  [38, 'deepl'],
  [11, 'google palm'],
  [29, 'groq'],
  [33, 'aws'],
  [42, 'vertexai'],
  [37, 'cloudflare'],
  [44, 'siliconflow'],
  [39, 'together.ai'],
  [41, 'novita'],
  [46, 'replicate'],
  [30, 'ollama'],
  [20, 'openrouter'],
]

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

/** Built once, on the first question: most of its cost is reading the lists. */
function knownById(): ReadonlyMap<string, ModelDescription> {
  if (catalogue) return catalogue
  const models = new Map<string, ModelDescription>()
  for (const [type, owner] of ownersByType) {
    for (const id of defaultModels(type) ?? []) {
      if (!models.has(id)) models.set(id, describe(id, owner))
    }
  }
  catalogue = models
  return models
}

/** Every model known by name, makers' models first. */
export const knownModels = (): ModelDescription[] => [...knownById().values()]

/** A model known by name, or `undefined`. */
export const knownModel = (id: string): ModelDescription | undefined => knownById().get(id)

/**
 * Descriptions of these models, each once: those known by name in the catalogue's order, then the
 * others in the order given.
 */
export function describeModels(ids: Iterable<string>): ModelDescription[] {
  const known = knownById()
  const wanted = new Set(ids)
  const ours = [...known.values()].filter((model) => wanted.has(model.id))
  const others = [...wanted].filter((id) => !known.has(id))
  return [...ours, ...others.map((id) => describe(id, null))]
}
