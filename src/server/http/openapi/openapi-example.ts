/**
 * Generates examples for the API description from its schemas. Each member gets a realistic value
 * by its name, or the simplest value of its type.
 */

export type JsonSchema = Record<string, unknown>

/** A time in September 2026. */
const SECONDS = 1_790_000_000

/**
 * Values by member name; the first value that fits the member's schema is used. A name with several
 * meanings (`token` is a code in one place and a number in another) has several values.
 */
const VALUES: Record<string, readonly unknown[]> = {
  id: [7, '7'],
  user_id: [12],
  actor_id: [1],
  target_id: [12],
  inviter_id: [3],
  username: ['li.ming'],
  display_name: ['李明'],
  password: ['correct-horse-9'],
  old_password: ['correct-horse-8'],
  email: ['li.ming@example.com'],
  role: [1],
  status: [1],
  group: ['default'],
  quota: [500_000],
  quota_was: [450_000],
  used_quota: [125_300],
  request_count: [318],
  remain_quota: [500_000],
  remain_quota_was: [450_000],
  requests_per_minute: [60],
  tokens_per_minute: [200_000],
  calls_at_once: [4],
  quota_per_day: [500_000],
  quota_per_week: [2_500_000],
  quota_per_month: [5_000_000],
  day_ends_at: [SECONDS + 3600],
  week_ends_at: [SECONDS + 2 * 86_400],
  month_ends_at: [SECONDS + 9 * 86_400],
  time_zone: ['Asia/Shanghai'],
  name: ['编辑器插件'],
  models: ['gpt-4o-mini,gpt-4o'],
  subnet: ['192.0.2.0/24'],
  expired_time: [-1],
  created_time: [SECONDS],
  created_at: [SECONDS],
  accessed_time: [SECONDS + 3600],
  redeemed_time: [SECONDS + 7200],
  test_time: [SECONDS],
  start_time: [SECONDS],
  start_timestamp: [SECONDS],
  end_timestamp: [SECONDS + 86_400],
  target_timestamp: [SECONDS - 30 * 86_400],
  searched_from: [SECONDS],
  balance: [12.5],
  balance_updated_time: [SECONDS],
  response_time: [840],
  time: [0.84],
  elapsed_time: [1240],
  base_url: ['https://api.example.com'],
  model_mapping: ['{"gpt-4o-mini-2024-07-18":"gpt-4o-mini"}'],
  model: ['gpt-4o-mini'],
  modelName: ['gpt-4o-mini'],
  model_name: ['gpt-4o-mini'],
  test_model: ['gpt-4o-mini'],
  requested_model: ['gpt-4o-mini'],
  priced_as: ['gpt-4o-mini'],
  token_name: ['编辑器插件'],
  content: ['倍率：0.075 × 1 × 4'],
  prompt_tokens: [1200],
  completion_tokens: [350],
  cached_tokens: [1024],
  prompt_token: [120_000],
  completion_token: [35_000],
  token: ['6f2c1f0e5c4d', 155_000],
  model_ratio: ['{"gpt-4o-mini":0.075}', '0.075'],
  completion_ratio: ['{"gpt-4o-mini":4}', '4'],
  group_ratio: ['{"default":1,"vip":0.8}', '1'],
  request_id: ['2026092208132412345678987654321'],
  keyword: ['li'],
  key: ['9c1b6a4e0f7d4c58a2e3b1d0c9f8e7a6'],
  config: ['{"region":"us-east-1"}'],
  version: ['v0.2.0'],
  system_name: ['Gatehouse'],
  server_address: ['https://gatehouse.example.com'],
  quota_per_unit: [500_000],
  owned_by: ['openai'],
  object: ['model'],
  scope: ['all'],
  success: [true],
  message: [''],
  // Lists and actions
  p: [0],
  page: [0],
  action: ['disable', 'update'],
  count: [10, 1],
  type: [2, 1],
  channel: [4],
  code: ['8f14e4'],
  state: ['Zk3v0TqYl2xw'],
}

/** Generates examples for schemas and resolves their references. */
export function createExamples(named: Readonly<Record<string, JsonSchema>>) {
  function resolved(schema: JsonSchema): JsonSchema {
    const { $ref, ...rest } = schema
    if (typeof $ref !== 'string') return schema
    return { ...resolved(named[$ref.split('/').at(-1) ?? ''] ?? {}), ...rest }
  }

  const branchesOf = (schema: JsonSchema): JsonSchema[] =>
    [schema['anyOf'] ?? schema['oneOf'] ?? []].flat().map((branch) => resolved(recordOf(branch)))

  /** Whether a plain value is valid for the schema. */
  function fits(value: unknown, schema: JsonSchema): boolean {
    const branches = branchesOf(schema)
    return branches.length === 0
      ? fitsPlain(value, schema)
      : branches.some((branch) => fits(value, branch))
  }

  /** `name` is the member's name; `item` marks an element of a list. */
  function exampleOf(given: JsonSchema, name = '', place: 'alone' | 'item' = 'alone'): unknown {
    const schema = resolved(given)
    const branches = branchesOf(schema)
    const own = [schema, ...branches].find(({ examples }) => Array.isArray(examples))
    if (own !== undefined) return [own['examples']].flat()[0]
    const known = VALUES[name]?.find((value) => fits(value, schema))
    if (known !== undefined) return known
    if (Array.isArray(schema['enum'])) return schema['enum'][0]
    if ('const' in schema) return schema['const']
    const branch = branches.find(({ type }) => type !== 'null')
    if (branch !== undefined) return exampleOf(branch, name, place)
    switch (typesOf(schema)[0]) {
      case 'object':
        return exampleObject(schema, place)
      case 'array':
        return [exampleOf(schemaAt(schema, 'items'), name, 'item')]
      case 'integer':
      case 'number':
        return Math.max(0, Number(schema['minimum'] ?? 0))
      case 'boolean':
        return false
      case 'string':
        return ''
      default:
        return null
    }
  }

  function exampleObject(schema: JsonSchema, place: 'alone' | 'item'): JsonSchema {
    const properties = Object.entries(schemaAt(schema, 'properties'))
    const required = [schema['required'] ?? []].flat()
    // Lists show less of each object, and an optional flag is not set.
    const isShown = (member: string, value: JsonSchema): boolean =>
      required.includes(member) || (place === 'alone' && typesOf(resolved(value))[0] !== 'boolean')
    if (properties.length > 0) {
      return Object.fromEntries(
        properties
          .filter(([member, value]) => isShown(member, recordOf(value)))
          .map(([member, value]) => [member, exampleOf(recordOf(value), member)]),
      )
    }
    const members = schemaAt(schema, 'additionalProperties')
    const key = exampleOf({ type: 'string', ...schemaAt(schema, 'propertyNames') })
    return Object.keys(members).length === 0 ? {} : { [String(key)]: exampleOf(members) }
  }

  return exampleOf
}

function fitsPlain(value: unknown, schema: JsonSchema): boolean {
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(value)
  const types = typesOf(schema)
  if (typeof value === 'number') {
    const isInRange =
      value >= Number(schema['minimum'] ?? -Infinity) &&
      value <= Number(schema['maximum'] ?? Infinity)
    const isOfType =
      types.includes('number') || (types.includes('integer') && Number.isInteger(value))
    return isInRange && isOfType
  }
  return types.includes(typeof value) && hasPattern(String(value), schema)
}

const hasPattern = (text: string, { pattern }: JsonSchema): boolean =>
  typeof pattern !== 'string' || new RegExp(pattern).test(text)

const typesOf = (schema: JsonSchema): unknown[] =>
  [schema['type'] ?? []].flat().filter((type) => type !== 'null')

const schemaAt = (schema: JsonSchema, member: string): JsonSchema => recordOf(schema[member])

const recordOf = (value: unknown): JsonSchema =>
  typeof value === 'object' && value !== null ? { ...value } : {}
