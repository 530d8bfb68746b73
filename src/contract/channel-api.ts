import { z } from 'zod'
import { COPY_FIELDS } from './channel-copy.ts'
import { BATCH_IDS_MAX } from './channel.ts'
import { del, get, post, put } from './endpoint.ts'
import {
  ById,
  Keyword,
  LenientNumber,
  NullableNumber,
  NullableText,
  optional,
  Text,
  WholeNumber,
  Withheld,
} from './wire.ts'

export const Channel = z.object({
  id: z.int(),
  /** Number of the channel type, `channel-types.ts`. */
  type: z.int(),
  /** Always `""`: keys are written, never read. See `key_set`. */
  key: Withheld,
  /** 1 enabled, 2 disabled by hand, 3 disabled by the program. */
  status: z.int(),
  name: NullableText,
  /** Share of the calls among channels of the same priority; 0 when all are 0: equal shares. */
  weight: NullableNumber,
  created_time: NullableNumber,
  test_time: NullableNumber,
  /** Milliseconds of the last test; 0 untested or failed. */
  response_time: NullableNumber,
  /** Empty: the type's own address. */
  base_url: NullableText,
  other: NullableText,
  /** In the provider's own unit. */
  balance: NullableNumber,
  balance_updated_time: NullableNumber,
  /** Comma list. */
  models: NullableText,
  /** Comma list. */
  group: NullableText,
  /** Points billed through it. */
  used_quota: NullableNumber,
  /** JSON object text: requested model → model sent upstream. */
  model_mapping: NullableText,
  /** Higher is tried first; may be negative. */
  priority: NullableNumber,
  /** JSON object text, secrets blanked. See `config_set`. */
  config: NullableText,
  system_prompt: NullableText,
  /** Model used for tests; empty: the first. Ours, absent on One API. */
  test_model: NullableText,
  /** Whether a key is stored. */
  key_set: z.boolean(),
  /** How many keys it holds. Ours, absent on One API. */
  key_count: z.int(),
  /** How many of several the upstream has refused, so that they are set aside. Ours as well. */
  keys_paused: z.int(),
  /** Which secret members of `config` are stored. */
  config_set: z.array(z.string()),
})
export type Channel = z.infer<typeof Channel>

export const ChannelInput = z.object({
  type: optional(WholeNumber),
  /** One per line. Empty on update: unchanged. */
  key: optional(Text),
  /**
   * What becomes of the keys. `each` (on creation, default): one channel for each; `together`: one
   * channel that holds them all, if its type can. On update they replace what is stored; `add`:
   * they are added to it. Ours.
   */
  key_mode: optional(z.enum(['each', 'together', 'add'])),
  status: optional(WholeNumber),
  name: optional(Text),
  weight: optional(z.int().min(0)),
  base_url: optional(Text),
  other: optional(Text),
  models: optional(Text),
  group: optional(Text),
  model_mapping: optional(Text),
  priority: optional(WholeNumber),
  config: optional(Text),
  system_prompt: optional(Text),
  test_model: optional(Text),
})
export type ChannelInput = z.infer<typeof ChannelInput>

const ListedModel = z.object({
  id: z.string(),
  object: z.string(),
  created: z.int(),
  owned_by: z.string(),
  permission: z.array(z.record(z.string(), z.unknown())).nullable(),
  root: z.string(),
  parent: z.null(),
})

/** How far a run over many channels has come. */
const RunState = z.object({
  running: z.boolean(),
  /** Which channels it visits; empty: there was no run yet. */
  scope: z.string(),
  done: z.int(),
  total: z.int(),
  failed: z.int(),
  /** The first of them, and why. */
  first_failure: z.object({ channel: z.string(), message: z.string() }).nullable(),
})
export type RunState = z.infer<typeof RunState>

/** What a creation left out of what it was asked for. */
const CreationReport = z.object({
  created: z.int(),
  /** Lines that repeated a key of an earlier line; one channel was made of them. */
  duplicates: z.int(),
})

const TestAnswer = z.object({
  /** Seconds, with milliseconds as decimals. */
  time: z.number(),
  model: z.string(),
  /** The same under the name that newer One API consoles read. */
  modelName: z.string(),
})

const BatchIds = z.array(WholeNumber).min(1).max(BATCH_IDS_MAX)

const BatchReport = z.object({
  /** Those that were otherwise before. */
  changed: z.int(),
  /** Those that are not there any more; nothing hinders the others. */
  missing: z.array(z.int()),
})

/** Why a field is not copied: the types do not share it, it is empty, or it is secret elsewhere. */
const LeftOut = z.enum(['type', 'empty', 'place'])
export type LeftOut = z.infer<typeof LeftOut>

const CopyFieldName = z.enum(COPY_FIELDS)

const CopyTarget = z.object({
  id: z.int(),
  name: z.string(),
  type: z.int(),
  /** What is otherwise there. */
  changes: z.array(z.object({ field: CopyFieldName, before: z.string() })),
  left_out: z.array(z.object({ field: CopyFieldName, why: LeftOut })),
})
export type CopyTarget = z.infer<typeof CopyTarget>

const CopyReport = BatchReport.extend({
  /** What the fields are at the source, as texts; secret ones masked. */
  values: z.array(z.object({ field: CopyFieldName, value: z.string() })),
  targets: z.array(CopyTarget),
})
export type CopyReport = z.infer<typeof CopyReport>

export const channelApi = {
  list: get('/api/channel/', {
    access: 'admin',
    query: z.object({ p: LenientNumber }),
    data: z.array(Channel),
  }),
  search: get('/api/channel/search', {
    access: 'admin',
    query: Keyword,
    data: z.array(Channel),
  }),
  models: get('/api/channel/models', {
    access: 'admin',
    answer: 'raw',
    data: z.object({
      success: z.boolean(),
      message: z.string(),
      object: z.string(),
      data: z.array(ListedModel),
    }),
  }),
  testAll: get('/api/channel/test', {
    access: 'admin',
    changesState: true,
    query: z.object({ scope: z.enum(['all', 'disabled']).catch('all') }),
  }),
  testStatus: get('/api/channel/test/status', {
    access: 'admin',
    data: RunState,
  }),
  test: get('/api/channel/test/:id', {
    access: 'admin',
    changesState: true,
    params: ById,
    query: z.object({ model: z.string().max(256).default('') }),
    extra: TestAnswer,
  }),
  /** Asks the upstreams of all channels that can be asked, in the background; one run at a time. */
  updateBalances: get('/api/channel/update_balance', { access: 'admin', changesState: true }),
  balanceStatus: get('/api/channel/update_balance/status', { access: 'admin', data: RunState }),
  updateBalance: get('/api/channel/update_balance/:id', {
    access: 'admin',
    changesState: true,
    params: ById,
    /** In the provider's own unit. */
    extra: z.object({ balance: z.number() }),
  }),
  /** Names of the models that the upstream of a stored channel offers to its stored key. */
  upstreamModels: get('/api/channel/upstream_models/:id', {
    access: 'admin',
    changesState: true,
    params: ById,
    data: z.array(z.string()),
  }),
  /** The same for a channel that is not stored yet: nothing is taken from stored ones. */
  newUpstreamModels: post('/api/channel/upstream_models', {
    access: 'admin',
    body: ChannelInput.pick({ type: true, base_url: true, key: true, config: true }),
    data: z.array(z.string()),
  }),
  find: get('/api/channel/:id', { access: 'admin', params: ById, data: Channel }),
  create: post('/api/channel/', {
    access: 'admin',
    body: ChannelInput,
    /** Only where there is something to report. */
    data: CreationReport.optional(),
  }),
  update: put('/api/channel/', {
    access: 'admin',
    body: ChannelInput.extend({ id: WholeNumber }),
    data: Channel,
  }),
  removeDisabled: del('/api/channel/disabled', {
    access: 'admin',
    data: z.int(),
  }),
  remove: del('/api/channel/:id', {
    access: 'admin',
    params: ById,
  }),
  batch: post('/api/channel/batch', {
    access: 'admin',
    body: z.object({ ids: BatchIds, action: z.enum(['enable', 'disable', 'delete']) }),
    data: BatchReport,
    summary: 'Enables, disables or deletes the named channels, all at once.',
  }),
  batchTest: post('/api/channel/batch/test', {
    access: 'admin',
    body: z.object({ ids: BatchIds }),
    summary: 'Begins a test run over the named channels; see GET /api/channel/test/status.',
  }),
  copy: post('/api/channel/batch/copy', {
    access: 'admin',
    body: z.object({
      source_id: WholeNumber,
      ids: BatchIds,
      fields: z.array(CopyFieldName).min(1),
      /** Only says what would change. */
      dry_run: optional(z.boolean()),
    }),
    data: CopyReport,
    summary: 'Copies fields of one channel to others: all of them, or none where one is refused.',
  }),
}
