import { describe, expect, test } from 'vitest'
import { BAIDU_ACCOUNT } from '../../../../tools/fake-upstream/providers/baidu-answers.ts'
import { SPARK_ACCOUNT } from '../../../../tools/fake-upstream/providers/spark/spark-frames.ts'
import { TENCENT_ACCOUNT } from '../../../../tools/fake-upstream/providers/tencent-answers.ts'
import { channelType, channelTypesInListOrder } from '../../../contract/channel-types.ts'
import { anAdmin } from '../../test/factories.ts'
import { nativeChannels } from '../../test/native-channels.ts'
import {
  aRoute,
  bookedCall,
  channelTestOf,
  chatBody,
  expectNothingCharged,
  expectRefused,
  post,
  requestIdOf,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Every channel type relays a chat with and without streaming, or reports why it cannot. */

/** Exceptions to the usual upstream call, a bearer key at OpenAI's path. */
interface Carried {
  key: string
  config: string
  /** Name of a model that the provider recognizes. */
  model: string
  /** Path below the channel's URL; null if it is signed or contains the model. */
  path: string | null
  header: [name: string, value: RegExp] | null
}

const KEY = 'sk-upstream'
const BEARER: Carried['header'] = ['authorization', /^Bearer sk-upstream$/]
const NAMED: Partial<Carried> = { path: null, header: null }

const { appId, secretId, secretKey } = TENCENT_ACCOUNT
const otherwise: Readonly<Record<number, Partial<Carried>>> = {
  3: {
    config: '{"api_version":"2025-04-01-preview"}',
    path: '/openai/deployments/MODEL/chat/completions?api-version=2025-04-01-preview',
    header: ['api-key', /^sk-upstream$/],
  },
  14: { path: '/v1/messages', header: ['x-api-key', /^sk-upstream$/] },
  15: { ...NAMED, key: `${BAIDU_ACCOUNT.apiKey}|${BAIDU_ACCOUNT.secretKey}` },
  16: {
    key: 'id.secret',
    path: '/api/paas/v4/chat/completions',
    header: ['authorization', /^Bearer id\.secret$/],
  },
  17: { path: '/compatible-mode/v1/chat/completions' },
  18: {
    ...NAMED,
    key: `${SPARK_ACCOUNT.appId}|${SPARK_ACCOUNT.secret}|${SPARK_ACCOUNT.key}`,
    config: '{"api_version":"v3.5"}',
  },
  22: { key: 'fastgpt-app', header: ['authorization', /^Bearer fastgpt-app$/] },
  23: { ...NAMED, key: `${appId}|${secretId}|${secretKey}`, model: 'hunyuan-turbo' },
  24: { path: null, header: ['x-goog-api-key', /^sk-upstream$/] },
  27: { path: '/v1/text/chatcompletion_v2' },
  30: { path: '/api/chat' },
  34: { path: '/v3/chat', config: '{"user_id":"7012"}' },
  35: { path: '/v2/chat' },
  38: {
    path: '/v2/translate',
    model: 'deepl-ja',
    header: ['authorization', /^DeepL-Auth-Key sk-upstream$/],
  },
  40: { path: '/api/v3/chat/completions' },
  41: { path: '/chat/completions' },
  46: { path: '/v1/models/meta/MODEL/predictions', model: 'meta/' },
  47: { path: '/v2/chat/completions' },
  // Models of this name respond only in streams.
  49: { path: '/compatible-mode/v1/chat/completions', model: 'qwq-' },
  50: { path: '/chat/completions' },
  51: { path: '/chat/completions' },
  52: { path: '/v1/messages', header: ['x-api-key', /^sk-upstream$/] },
}

/** How the tests of these providers reach their upstreams. */
function carriedBy(type: number, upstream: string): Carried {
  const native = nativeChannels.find((row) => row.type === type)
  const { key, config, model } = native ?? { key: () => KEY, config: '', model: '' }
  const signed = [33, 37, 42].includes(type) ? NAMED : {}
  const usual = { path: '/v1/chat/completions', header: BEARER }
  return { ...usual, key: key(upstream), config, model, ...signed, ...otherwise[type] }
}

/** Types whose service has been closed. */
const ended = [11, 21]
/** The proxy type: not metered, with its own path. */
const passedOn = 43
const types = channelTypesInListOrder
  .map(({ type }) => type)
  .filter((type) => !ended.includes(type) && type !== passedOn)
  .toSorted((a, b) => a - b)

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

test.each(types)('type %i relays a chat with and without streaming', async (type) => {
  const { key, config, model: beginning, path, header } = carriedBy(type, setup.upstream.url)
  const name = beginning === 'deepl-ja' ? `every${type}-ja` : `${beginning}every-${type}`
  await aRoute(setup, name, { type, key, config })
  const whole = await post(setup, client, chatBody(name))
  expect([whole.status, JSON.stringify(whole.json)]).toEqual([
    200,
    expect.stringContaining('The answer is forty-two.'),
  ])
  const streamed = await stream(setup, client, chatBody(name))
  expect(textOf(streamed.text())).toBe('The answer is forty-two.')
  for (const answer of [whole, streamed]) {
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
  }
  const calls = setup.upstream.seen()
  const own = calls.find(({ url }) => url === path?.replace('MODEL', `every-${type}`))
  if (path !== null) expect(calls.map(({ url }) => url)).toContain(own?.url)
  if (header !== null) expect((own ?? calls[0])?.headers[header[0]]).toMatch(header[1])
})

describe.each(ended)('type %i, whose service is closed', (type) => {
  test('is marked as closed, and rejects calls and tests with that reason', async () => {
    const { label, retired, notice } = channelType(type)
    expect({ retired, hasNotice: notice !== null }).toEqual({ retired: true, hasNotice: true })
    const model = `ended-${type}`
    await aRoute(setup, model, { type })
    const answer = await post(setup, client, chatBody(model))
    expect(answer.status).toBe(503)
    expect(JSON.stringify(answer.json)).toContain(`「${label.zh}」的服务已经停止`)
    const tested = await channelTestOf(setup, model)
    expect(tested.json).toMatchObject({ success: false })
    expect(JSON.stringify(tested.json)).toContain('的服务已经停止')
    expect(setup.upstream.seen()).toEqual([])
    await expectNothingCharged(setup, client)
  })
})

test('a refusal names a type as the console does in the same language', async () => {
  await aRoute(setup, 'half-a-key', { type: 15, key: 'half' })
  const { id } = await setup.database.read
    .selectFrom('channels')
    .select('id')
    .where('models', '=', 'half-a-key')
    .executeTakeFirstOrThrow()
  const as = await anAdmin(setup)
  const { label } = channelType(15)
  for (const language of ['zh', 'en'] as const) {
    const headers = { 'accept-language': language }
    const other = label[language === 'zh' ? 'en' : 'zh']
    for (const path of ['test', 'update_balance', 'upstream_models']) {
      const { json } = await setup.call('GET', `/api/channel/${path}/${id}`, { as, headers })
      expect(json).toMatchObject({ success: false })
      expect(JSON.stringify(json)).toContain(label[language])
      expect(JSON.stringify(json)).not.toContain(other)
    }
  }
})

test('the proxy type cannot be called by a model', async () => {
  await aRoute(setup, 'passed-on', { type: passedOn })
  const params = { type: channelType(passedOn).label.zh }
  await expectRefused(setup, client, chatBody('passed-on'), {
    code: 'channel_protocol_unsupported',
    status: 501,
    params,
    wireCode: 'api_not_implemented',
  })
})
