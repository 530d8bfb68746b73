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
const TYPE = 'Number of the channel type, which says what upstream it is.'
const STATUS = '1 enabled, 2 disabled by hand, 3 disabled by the program.'
const ADDRESS = 'Address of the upstream; empty: the type’s own.'
const OTHER = 'What some types need beside the key, such as a version; or empty.'
const MAPPING = 'JSON object as text: requested model → model sent upstream; or empty.'
const PROMPT = 'System prompt that replaces those of the calls; empty: none does.'
const TEST_MODEL = 'Model that tests ask for; empty: the first. Gatehouse only.'
const WEIGHT =
  'Share of the calls among channels of the same priority; 0 when all are 0: equal shares.'
const PRIORITY = 'Higher is tried first; may be negative.'

const name = { example: '主渠道' }
const config = { example: '{}' }
const mapping = { description: MAPPING, example: '{"gpt-4o-mini-2024-07-18":"gpt-4o-mini"}' }
const empty = { example: '' }

export const Channel = z
  .object({
    id: ChannelId,
    type: z.int().meta({ description: TYPE, example: 1 }),
    key: Withheld.describe('Always empty: keys are written, never read. See `key_set`.'),
    status: z.int().describe(STATUS),
    name: NullableText.meta({ ...name, description: 'Name of the channel.' }),
    weight: NullableWholeNumber.describe(WEIGHT),
    created_time: NullableWholeNumber.describe('When it was made, in seconds.'),
    test_time: NullableWholeNumber.describe('When it was last tested, in seconds; 0: never.'),
    response_time: NullableWholeNumber.describe(
      'Milliseconds of the last test; 0 untested or failed.',
    ),
    base_url: NullableText.describe(ADDRESS),
    other: NullableText.describe(OTHER),
    balance: NullableNumber.describe('What is left at the provider, in its own unit.'),
    balance_updated_time: NullableWholeNumber.describe(
      'When the balance was asked for, in seconds; 0: never.',
    ),
    models: NullableText.describe('Comma list of the models it serves.'),
    group: NullableText.describe('Comma list of the groups it serves.'),
    used_quota: NullableWholeNumber.describe('Points billed through it.'),
    model_mapping: NullableText.meta(mapping),
    priority: NullableWholeNumber.describe(PRIORITY),
    config: NullableText.meta({
      ...config,
      description: 'JSON object as text, secrets blanked. See `config_set`.',
    }),
    system_prompt: NullableText.describe(PROMPT),
    test_model: NullableText.describe(TEST_MODEL),
    key_set: z.boolean().meta({ description: 'Whether a key is stored.', example: true }),
    key_count: z.int().meta({ description: 'How many keys it holds. Gatehouse only.', example: 2 }),
    keys_paused: z
      .int()
      .describe(
        'How many of several the upstream has refused, so that they are set aside. Gatehouse only.',
      ),
    config_set: z
      .array(z.string())
      .meta({ description: 'Which secret members of `config` are stored.', example: [] }),
  })
  .meta({ id: 'Channel', description: 'A connection to an upstream.' })
export type Channel = z.infer<typeof Channel>

const KEY_MODES = {
  creation:
    'on creation `each` (default): one channel for each; `together`: one that holds them all',
  update: 'on update they replace what is stored; `add`: they are added to it',
}

/** Maximum length of a list of keys, in characters: enough for a thousand of the longest keys. */
const KEYS_LENGTH_MAX = 1024 * 1024

const LISTED = `each of at most ${GROUP_NAME_LENGTH_MAX} characters`

export const ChannelInput = z.object({
  type: optional(WholeNumber).meta({ description: TYPE, example: 1 }),
  key: optional(z.string().max(KEYS_LENGTH_MAX)).meta({
    description: 'Keys of the upstream, one a line. Empty on update: unchanged.',
    example: 'sk-one\nsk-two',
  }),
  key_mode: optional(z.enum(['each', 'together', 'add'])).meta({
    description: `What becomes of several keys: ${KEY_MODES.creation}; ${KEY_MODES.update}. Gatehouse only.`,
    example: 'together',
  }),
  status: optional(WholeNumber).describe(`${STATUS} Absent: enabled, on update as it is.`),
  name: optional(Text).meta({ ...name, description: 'Name of the channel.', maxLength: 200 }),
  weight: optional(z.int().min(0)).describe(WEIGHT),
  base_url: optional(Text).describe(ADDRESS),
  other: optional(Text).meta({ ...empty, description: OTHER }),
  models: optional(Text).describe('Comma list of the models it serves.'),
  group: optional(Text).describe(
    `Comma list of the groups it serves, ${LISTED}; empty on creation: \`default\`.`,
  ),
  model_mapping: optional(Text).meta(mapping),
  priority: optional(WholeNumber).describe(PRIORITY),
  config: optional(Text).meta({
    ...config,
    description:
      'JSON object as text, with what the type asks for and `proxy`, `header_override`, `param_override`. An empty secret on update: unchanged; null takes a member away.',
  }),
  system_prompt: optional(Text).meta({ ...empty, description: PROMPT }),
  test_model: optional(Text).describe(TEST_MODEL),
})
export type ChannelInput = z.infer<typeof ChannelInput>

const ChannelCreate = ChannelInput.extend({
  key: ChannelInput.shape.key.meta({ [NEEDED]: true }),
}).meta({
  id: 'ChannelCreate',
  description: 'What one or several new channels are to be.',
  example: { type: 1, name: '主渠道', key: 'sk-one\nsk-two', models: 'gpt-4o-mini,gpt-4o' },
})

const ChannelUpdate = z.object({ id: ChannelId, ...ChannelInput.shape }).meta({
  id: 'ChannelUpdate',
  description:
    'What to change of a channel; members that are absent stay as they are, and so does what may not be empty.',
  example: { id: 4, priority: 10 },
})

const ListedModel = z
  .object({
    id: z.string().meta({ description: 'Name of the model.', example: 'gpt-4o-mini' }),
    object: z.string().describe('Always `model`.'),
    created: z.int().meta({ description: 'A moment, in seconds.', example: 1_626_777_600 }),
    owned_by: z.string().describe('Whose model it is.'),
    permission: z
      .array(z.record(z.string(), z.unknown()))
      .nullable()
      .meta({ description: 'As OpenAI once listed it.', example: null }),
    root: z.string().meta({ description: 'Like `id`.', example: 'gpt-4o-mini' }),
    parent: z.null().describe('Always null.'),
  })
  .meta({ id: 'ListedModel', description: 'A model, as OpenAI lists it.' })

const RunState = z
  .object({
    running: z.boolean().describe('Whether it goes on.'),
    scope: z.string().describe('Which channels it visits; empty: there was no run yet.'),
    done: z.int().meta({ description: 'Channels visited.', example: 12 }),
    total: z.int().meta({ description: 'Channels to visit.', example: 12 }),
    failed: z.int().describe('How many of those visited failed.'),
    first_failure: z
      .object({
        channel: z.string().describe('Name of the channel.'),
        message: z.string().describe('Why, in a sentence.'),
      })
      .nullable()
      .meta({ description: 'The first of them, and why.', example: null }),
  })
  .meta({ id: 'ChannelRun', description: 'How far a run over many channels has come.' })
export type RunState = z.infer<typeof RunState>

const CreationReport = z
  .object({
    created: z.int().meta({ description: 'Channels that were made.', example: 2 }),
    duplicates: z.int().meta({
      description: 'Lines that repeated a key of an earlier line; one channel was made of them.',
      example: 1,
    }),
  })
  .meta({ id: 'CreationReport', description: 'What a creation left out of what it was asked for.' })

const TestAnswer = z.object({
  time: z.number().describe('Seconds, with milliseconds as decimals.'),
  model: z.string().describe('Model that was asked for.'),
  modelName: z.string().describe('The same under the name that newer One API consoles read.'),
})

const Filters = z.object({
  status: LenientFilter.optional().describe(`Only this status. ${STATUS} Gatehouse only.`),
  type: LenientFilter.optional().describe('Only this channel type. Gatehouse only.'),
  group: z
    .string()
    .max(GROUP_NAME_LENGTH_MAX)
    .optional()
    .describe('Only channels that serve this group. Gatehouse only.'),
})
export type ChannelFilters = z.infer<typeof Filters>

const ChannelSummary = z
  .object({
    total: z.int().meta({ description: 'Channels in all.', example: 12 }),
    enabled: z.int().meta({ description: 'Channels that are enabled.', example: 9 }),
    disabled: z.int().meta({ description: 'Channels that are disabled by hand.', example: 2 }),
    auto_disabled: z.int().meta({ description: 'Channels disabled by the program.', example: 1 }),
    types: z.array(z.int()).meta({ description: 'Types that channels have.', example: [1, 14] }),
    groups: z
      .array(z.string())
      .meta({ description: 'Groups that channels serve.', example: ['default', 'vip'] }),
  })
  .meta({ id: 'ChannelSummary', description: 'How many channels there are, and of which kinds.' })
export type ChannelSummary = z.infer<typeof ChannelSummary>

const ById = byId('Id of the channel.', 4)

const ModelNames = z.array(z.string()).meta({ example: ['gpt-4o-mini', 'gpt-4o'] })

export const channelApi = {
  list: get('/api/channel/', {
    name: 'listChannels',
    summary: 'Channels, a page at a time, newest first.',
    access: 'admin',
    query: Filters.extend({ p: Page }),
    data: z.array(Channel),
    counted: true,
  }),
  search: get('/api/channel/search', {
    name: 'searchChannels',
    summary: 'Channels by id, by a part of the name, or by a key.',
    access: 'admin',
    query: Filters.extend(keyword('An id, a part of the name, or a whole key; empty: all.').shape),
    data: z.array(Channel),
    counted: true,
  }),
  summary: get('/api/channel/summary', {
    name: 'summarizeChannels',
    summary: 'How many channels there are of each status, and their types and groups.',
    access: 'admin',
    data: ChannelSummary,
  }),
  models: get('/api/channel/models', {
    name: 'listKnownModels',
    summary: 'All models that the server knows, as OpenAI lists them.',
    access: 'admin',
    answer: 'raw',
    data: z
      .object({
        success: z.boolean().meta({ description: 'True.', const: true }),
        message: z.string().meta({ description: 'Always empty.', example: '' }),
        object: z.string().meta({ description: 'Always `list`.', example: 'list' }),
        data: z.array(ListedModel).describe('The models.'),
      })
      .meta({ id: 'ModelList', description: 'Models, as OpenAI lists them.' }),
  }),
  testAll: get('/api/channel/test', {
    name: 'testAllChannels',
    summary: 'Begins a test run over all channels; see GET /api/channel/test/status.',
    access: 'admin',
    changesState: true,
    query: z.object({
      scope: z
        .enum(['all', 'disabled'])
        .catch('all')
        .describe('Which channels are tested; else all.'),
    }),
  }),
  testStatus: get('/api/channel/test/status', {
    name: 'getChannelTestRun',
    summary: 'How far the test run is.',
    access: 'admin',
    data: RunState,
  }),
  test: get('/api/channel/test/:id', {
    name: 'testChannel',
    summary: 'Calls the upstream of a channel and waits; `message` is its answer.',
    access: 'admin',
    changesState: true,
    params: ById,
    query: z.object({
      model: z
        .string()
        .max(256)
        .default('')
        .describe('Model to ask for; empty: the channel’s test model, or its first.'),
    }),
    extra: TestAnswer,
  }),
  updateBalances: get('/api/channel/update_balance', {
    name: 'updateBalances',
    summary:
      'Asks the upstreams of all channels that can be asked, in the background; one run at a time.',
    access: 'admin',
    changesState: true,
  }),
  balanceStatus: get('/api/channel/update_balance/status', {
    name: 'getBalanceRun',
    summary: 'How far the run that asks for balances is.',
    access: 'admin',
    data: RunState,
  }),
  updateBalance: get('/api/channel/update_balance/:id', {
    name: 'updateBalance',
    summary: 'Asks the upstream of a channel for the balance, and stores it.',
    access: 'admin',
    changesState: true,
    params: ById,
    extra: z.object({ balance: z.number().describe('In the provider’s own unit.') }),
  }),
  upstreamModels: get('/api/channel/upstream_models/:id', {
    name: 'listUpstreamModels',
    summary: 'Models that the upstream of a stored channel offers to its stored key.',
    access: 'admin',
    changesState: true,
    params: ById,
    data: ModelNames,
  }),
  newUpstreamModels: post('/api/channel/upstream_models', {
    name: 'listModelsOfUpstream',
    summary:
      'Models that an upstream offers, for a channel that is not stored yet: nothing is taken from stored ones.',
    access: 'admin',
    bodyClass: 'bulk',
    body: ChannelInput.pick({ type: true, base_url: true, key: true, config: true }).meta({
      id: 'UpstreamToAsk',
      description: 'Where to ask, and with which key.',
      example: { type: 1, key: 'sk-one' },
    }),
    data: ModelNames,
  }),
  find: get('/api/channel/:id', {
    name: 'getChannel',
    summary: 'One channel, without its keys.',
    access: 'admin',
    params: ById,
    data: Channel,
  }),
  create: post('/api/channel/', {
    name: 'createChannels',
    summary: 'Makes a channel for each line of `key`, or one that holds them all.',
    access: 'admin',
    bodyClass: 'bulk',
    body: ChannelCreate,
    data: CreationReport.optional().describe('Only where something was left out.'),
  }),
  update: put('/api/channel/', {
    name: 'updateChannel',
    summary: 'Changes the members of a channel that the body names.',
    access: 'admin',
    bodyClass: 'bulk',
    body: ChannelUpdate,
    data: Channel,
  }),
  removeDisabled: del('/api/channel/disabled', {
    name: 'deleteDisabledChannels',
    summary: 'Deletes all channels that are disabled, by hand or by the program.',
    access: 'admin',
    data: z.int().meta({ description: 'How many were deleted.', example: 3 }),
  }),
  remove: del('/api/channel/:id', {
    name: 'deleteChannel',
    summary: 'Deletes a channel for good; one that is gone, too.',
    access: 'admin',
    params: ById,
  }),
}
