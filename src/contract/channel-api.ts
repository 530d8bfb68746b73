import { z } from 'zod'
import { del, get, post, put } from './endpoint.ts'
import { GROUP_NAME_LENGTH_MAX } from './user.ts'
import {
  byId,
  keyword,
  LenientFilter,
  NEEDED,
  NullableNumber,
  NullableText,
  NullableWholeNumber,
  optional,
  Page,
  Text,
  WholeNumber,
  Withheld,
} from './wire.ts'

const ChannelId = z.int().meta({ description: 'Id of the channel.', example: 4 })
const TYPE = 'Number of the channel type.'
const STATUS = '1 enabled, 2 disabled manually, 3 disabled automatically.'
const ADDRESS = 'Base URL of the upstream; empty: the default of the type.'
const OTHER = 'Additional value that some types need, such as a version, or empty.'
const MAPPING = 'Requested model → model sent upstream; may be empty. A JSON object as a string.'
const PROMPT = 'System prompt that replaces those of the requests; empty: none.'
const TEST_MODEL = 'Model for tests; empty: the first one. Gatehouse only.'
const WEIGHT = 'Share of the calls among channels of the same priority; if all are 0, equal shares.'
const PRIORITY = 'Higher priorities are tried first; may be negative.'

const name = { example: '主渠道' }
const config = { example: '{}' }
const mapping = { description: MAPPING, example: '{"gpt-4o-mini-2024-07-18":"gpt-4o-mini"}' }
const empty = { example: '' }

export const Channel = z
  .object({
    id: ChannelId,
    type: z.int().meta({ description: TYPE, example: 1 }),
    key: Withheld.describe('Always empty: keys are write-only. See `key_set`.'),
    status: z.int().describe(STATUS),
    name: NullableText.meta({ ...name, description: 'Name of the channel.' }),
    weight: NullableWholeNumber.describe(WEIGHT),
    created_time: NullableWholeNumber.describe('Time of creation, in epoch seconds.'),
    test_time: NullableWholeNumber.describe('Time of the last test, in epoch seconds; 0: never.'),
    response_time: NullableWholeNumber.describe(
      'Duration of the last test in milliseconds; 0: untested or failed.',
    ),
    base_url: NullableText.describe(ADDRESS),
    other: NullableText.describe(OTHER),
    balance: NullableNumber.describe('Balance in the provider’s own unit.'),
    balance_updated_time: NullableWholeNumber.describe(
      'Time of the last balance update, in epoch seconds; 0: never.',
    ),
    models: NullableText.describe('Comma-separated list of the models it serves.'),
    group: NullableText.describe('Comma-separated list of the groups it serves.'),
    used_quota: NullableWholeNumber.describe('Points billed for its calls.'),
    model_mapping: NullableText.meta(mapping),
    priority: NullableWholeNumber.describe(PRIORITY),
    config: NullableText.meta({
      ...config,
      description: 'JSON object as a string, with secrets removed. See `config_set`.',
    }),
    system_prompt: NullableText.describe(PROMPT),
    test_model: NullableText.describe(TEST_MODEL),
    key_set: z.boolean().meta({ description: 'Whether a key is stored.', example: true }),
    key_count: z.int().meta({ description: 'Number of stored keys. Gatehouse only.', example: 2 }),
    keys_paused: z
      .int()
      .describe(
        'Number of keys that are paused because the upstream refused them. Gatehouse only.',
      ),
    config_set: z
      .array(z.string())
      .meta({ description: 'Secret members of `config` that are stored.', example: [] }),
  })
  .meta({ id: 'Channel', description: 'A connection to an upstream.' })
export type Channel = z.infer<typeof Channel>

const KEY_MODES = {
  creation:
    'on creation `each` (default) creates one channel per key, `together` one channel with all keys',
  update: 'on update the keys replace the stored ones, with `add` they are added',
}

/** Maximum length of a list of keys, in characters: enough for a thousand of the longest keys. */
const KEYS_LENGTH_MAX = 1024 * 1024

const LISTED = `each of at most ${GROUP_NAME_LENGTH_MAX} characters`

export const ChannelInput = z.object({
  type: optional(WholeNumber).meta({ description: TYPE, example: 1 }),
  key: optional(z.string().max(KEYS_LENGTH_MAX)).meta({
    description: 'Keys of the upstream, one per line. Empty on update: unchanged.',
    example: 'sk-one\nsk-two',
  }),
  key_mode: optional(z.enum(['each', 'together', 'add'])).meta({
    description: `Use of several keys: ${KEY_MODES.creation}; ${KEY_MODES.update}. Gatehouse only.`,
    example: 'together',
  }),
  status: optional(WholeNumber).describe(`${STATUS} If omitted: enabled, on update unchanged.`),
  name: optional(Text).meta({ ...name, description: 'Name of the channel.', maxLength: 200 }),
  weight: optional(z.int().min(0)).describe(WEIGHT),
  base_url: optional(Text).describe(ADDRESS),
  other: optional(Text).meta({ ...empty, description: OTHER }),
  models: optional(Text).describe('Comma-separated list of the models it serves.'),
  group: optional(Text).describe(
    `Comma-separated list of the groups it serves, ${LISTED}; empty on creation: \`default\`.`,
  ),
  model_mapping: optional(Text).meta(mapping),
  priority: optional(WholeNumber).describe(PRIORITY),
  config: optional(Text).meta({
    ...config,
    description:
      'JSON object as a string, with the fields of the type and `proxy`, `header_override`, `param_override`. An empty secret on update: unchanged; null removes a member.',
  }),
  system_prompt: optional(Text).meta({ ...empty, description: PROMPT }),
  test_model: optional(Text).describe(TEST_MODEL),
})
export type ChannelInput = z.infer<typeof ChannelInput>

const ChannelCreate = ChannelInput.extend({
  key: ChannelInput.shape.key.meta({ [NEEDED]: true }),
}).meta({
  id: 'ChannelCreate',
  description: 'One or several new channels.',
  example: { type: 1, name: '主渠道', key: 'sk-one\nsk-two', models: 'gpt-4o-mini,gpt-4o' },
})

const ChannelUpdate = z.object({ id: ChannelId, ...ChannelInput.shape }).meta({
  id: 'ChannelUpdate',
  description:
    'Changes of a channel; omitted members stay unchanged, as do empty ones that must not be empty.',
  example: { id: 4, priority: 10 },
})

const ListedModel = z
  .object({
    id: z.string().meta({ description: 'Name of the model.', example: 'gpt-4o-mini' }),
    object: z.string().describe('Always `model`.'),
    created: z.int().meta({ description: 'Time in epoch seconds.', example: 1_626_777_600 }),
    owned_by: z.string().describe('Owner of the model.'),
    permission: z
      .array(z.record(z.string(), z.unknown()))
      .nullable()
      .meta({ description: 'Permissions in OpenAI’s former format.', example: null }),
    root: z.string().meta({ description: 'Same as `id`.', example: 'gpt-4o-mini' }),
    parent: z.null().describe('Always null.'),
  })
  .meta({ id: 'ListedModel', description: 'A model in OpenAI’s list format.' })

const RunState = z
  .object({
    running: z.boolean().describe('Whether the run is in progress.'),
    scope: z.string().describe('Scope of the run; empty: no run yet.'),
    done: z.int().meta({ description: 'Number of channels visited so far.', example: 12 }),
    total: z.int().meta({ description: 'Number of channels to visit.', example: 12 }),
    failed: z.int().describe('Number of visited channels that failed.'),
    first_failure: z
      .object({
        channel: z.string().describe('Name of the channel.'),
        message: z.string().describe('Reason of the failure.'),
      })
      .nullable()
      .meta({ description: 'The first failed channel and the reason.', example: null }),
  })
  .meta({ id: 'ChannelRun', description: 'Progress of a run over many channels.' })
export type RunState = z.infer<typeof RunState>

const CreationReport = z
  .object({
    created: z.int().meta({ description: 'Number of created channels.', example: 2 }),
    duplicates: z.int().meta({
      description: 'Number of lines that repeat a key of an earlier line, and create no channel.',
      example: 1,
    }),
  })
  .meta({ id: 'CreationReport', description: 'Lines that a creation skipped.' })

const TestAnswer = z.object({
  time: z.number().describe('Duration in seconds, with three decimals.'),
  model: z.string().describe('Tested model.'),
  modelName: z.string().describe('Same as `model`, for newer One API consoles.'),
})

const Filters = z.object({
  status: LenientFilter.optional().describe(
    `Only channels with this status. ${STATUS} Gatehouse only.`,
  ),
  type: LenientFilter.optional().describe('Only channels of this type. Gatehouse only.'),
  group: z
    .string()
    .max(GROUP_NAME_LENGTH_MAX)
    .optional()
    .describe('Only channels that serve this group. Gatehouse only.'),
})
export type ChannelFilters = z.infer<typeof Filters>

const ChannelSummary = z
  .object({
    total: z.int().meta({ description: 'Number of channels.', example: 12 }),
    enabled: z.int().meta({ description: 'Number of enabled channels.', example: 9 }),
    disabled: z.int().meta({ description: 'Number of channels disabled manually.', example: 2 }),
    auto_disabled: z
      .int()
      .meta({ description: 'Number of channels disabled automatically.', example: 1 }),
    types: z.array(z.int()).meta({ description: 'Types in use.', example: [1, 14] }),
    groups: z
      .array(z.string())
      .meta({ description: 'Groups in use.', example: ['default', 'vip'] }),
  })
  .meta({
    id: 'ChannelSummary',
    description: 'Number of channels by status, with types and groups in use.',
  })
export type ChannelSummary = z.infer<typeof ChannelSummary>

const ById = byId('Id of the channel.', 4)

const ModelNames = z.array(z.string()).meta({ example: ['gpt-4o-mini', 'gpt-4o'] })

export const channelApi = {
  list: get('/api/channel/', {
    name: 'listChannels',
    summary: 'Channels, in pages, newest first.',
    access: 'admin',
    scope: 'channels',
    query: Filters.extend({ p: Page }),
    data: z.array(Channel),
    counted: true,
  }),
  search: get('/api/channel/search', {
    name: 'searchChannels',
    summary: 'Finds channels by id, part of the name, or key.',
    access: 'admin',
    scope: 'channels',
    query: Filters.extend(keyword('An id, part of the name, or a complete key; empty: all.').shape),
    data: z.array(Channel),
    counted: true,
  }),
  summary: get('/api/channel/summary', {
    name: 'summarizeChannels',
    summary: 'Number of channels by status, and their types and groups.',
    access: 'admin',
    scope: 'channels',
    data: ChannelSummary,
  }),
  models: get('/api/channel/models', {
    name: 'listKnownModels',
    summary: 'All known models, in OpenAI’s list format.',
    access: 'admin',
    scope: 'channels',
    answer: 'raw',
    data: z
      .object({
        success: z.boolean().meta({ description: 'Always true.', const: true }),
        message: z.string().meta({ description: 'Always empty.', example: '' }),
        object: z.string().meta({ description: 'Always `list`.', example: 'list' }),
        data: z.array(ListedModel).describe('The models.'),
      })
      .meta({ id: 'ModelList', description: 'Models in OpenAI’s list format.' }),
  }),
  testAll: get('/api/channel/test', {
    name: 'testAllChannels',
    summary: 'Starts a test run over all channels; see GET /api/channel/test/status.',
    access: 'admin',
    scope: 'channels',
    changesState: true,
    query: z.object({
      scope: z.enum(['all', 'disabled']).catch('all').describe('Channels to test; all if omitted.'),
    }),
  }),
  testStatus: get('/api/channel/test/status', {
    name: 'getChannelTestRun',
    summary: 'Progress of the test run.',
    access: 'admin',
    scope: 'channels',
    data: RunState,
  }),
  test: get('/api/channel/test/:id', {
    name: 'testChannel',
    summary: 'Tests a channel with a call to its upstream; `message` is its reply.',
    access: 'admin',
    scope: 'channels',
    changesState: true,
    params: ById,
    query: z.object({
      model: z
        .string()
        .max(256)
        .default('')
        .describe('Model to call; empty: the channel’s test model, or its first.'),
    }),
    extra: TestAnswer,
  }),
  updateBalances: get('/api/channel/update_balance', {
    name: 'updateBalances',
    summary:
      'Starts a background run that updates the balances of all channels that report one; one run at a time.',
    access: 'admin',
    scope: 'channels',
    changesState: true,
  }),
  balanceStatus: get('/api/channel/update_balance/status', {
    name: 'getBalanceRun',
    summary: 'Progress of the balance run.',
    access: 'admin',
    scope: 'channels',
    data: RunState,
  }),
  updateBalance: get('/api/channel/update_balance/:id', {
    name: 'updateBalance',
    summary: 'Queries and stores the balance of a channel.',
    access: 'admin',
    scope: 'channels',
    changesState: true,
    params: ById,
    extra: z.object({ balance: z.number().describe('Balance in the provider’s own unit.') }),
  }),
  upstreamModels: get('/api/channel/upstream_models/:id', {
    name: 'listUpstreamModels',
    summary: 'Models that the upstream of a stored channel offers for its stored key.',
    access: 'admin',
    scope: 'channels',
    changesState: true,
    params: ById,
    data: ModelNames,
  }),
  newUpstreamModels: post('/api/channel/upstream_models', {
    name: 'listModelsOfUpstream',
    summary:
      'Models that an upstream offers, for a channel that is not stored yet. Uses only the given values.',
    access: 'admin',
    scope: 'channels',
    bodyClass: 'bulk',
    body: ChannelInput.pick({ type: true, base_url: true, key: true, config: true }).meta({
      id: 'UpstreamToAsk',
      description: 'Upstream and key to query.',
      example: { type: 1, key: 'sk-one' },
    }),
    data: ModelNames,
  }),
  find: get('/api/channel/:id', {
    name: 'getChannel',
    summary: 'One channel, without its keys.',
    access: 'admin',
    scope: 'channels',
    params: ById,
    data: Channel,
  }),
  create: post('/api/channel/', {
    name: 'createChannels',
    summary: 'Creates a channel for each line of `key`, or one channel with all of them.',
    access: 'admin',
    scope: 'channels',
    bodyClass: 'bulk',
    body: ChannelCreate,
    data: CreationReport.optional().describe('Present only if lines were omitted.'),
  }),
  update: put('/api/channel/', {
    name: 'updateChannel',
    summary: 'Changes the members of a channel that the body contains.',
    access: 'admin',
    scope: 'channels',
    bodyClass: 'bulk',
    body: ChannelUpdate,
    data: Channel,
  }),
  removeDisabled: del('/api/channel/disabled', {
    name: 'deleteDisabledChannels',
    summary: 'Deletes all disabled channels, whether disabled manually or automatically.',
    access: 'admin',
    needsProof: true,
    scope: 'channels',
    data: z.int().meta({ description: 'Number of deleted channels.', example: 3 }),
  }),
  remove: del('/api/channel/:id', {
    name: 'deleteChannel',
    summary: 'Deletes a channel permanently; succeeds for a missing one too.',
    access: 'admin',
    needsProof: true,
    scope: 'channels',
    params: ById,
  }),
}
