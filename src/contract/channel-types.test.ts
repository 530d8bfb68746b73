import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ChannelTypeNumber } from './channel-type-number.ts'
import {
  bearerOf,
  balanceText,
  channelType,
  channelTypesInListOrder,
  channelTypeSections,
  composeKey,
  splitKey,
  trimBaseUrl,
  upstreamUrl,
} from './channel-types.ts'

const CHAT = '/v1/chat/completions'
const allTypes = Object.values(ChannelTypeNumber).toSorted((a, b) => a - b)
/** Higher numbers are our own. */
const wireTypes = allTypes.filter((type) => type <= 52)

/** Labels and colours in One API's console. */
const labels: Record<number, [zh: string, color: string]> = {
  1: ['OpenAI', 'green'],
  2: ['代理：API2D', 'blue'],
  3: ['Azure', 'olive'],
  4: ['代理：CloseAI', 'teal'],
  5: ['代理：OpenAI-SB', 'brown'],
  6: ['代理：OpenAI Max', 'violet'],
  7: ['代理：OhMyGPT', 'purple'],
  8: ['自定义渠道', 'pink'],
  9: ['代理：AI.LS', 'yellow'],
  10: ['代理：AI Proxy', 'purple'],
  11: ['PaLM2', 'orange'],
  12: ['代理：API2GPT', 'blue'],
  13: ['代理：AIGC2D', 'purple'],
  14: ['Anthropic', 'black'],
  15: ['百度文心千帆', 'blue'],
  16: ['智谱 ChatGLM', 'violet'],
  17: ['阿里通义千问', 'orange'],
  18: ['讯飞星火认知', 'blue'],
  19: ['360 智脑', 'blue'],
  20: ['OpenRouter', 'black'],
  21: ['知识库：AI Proxy', 'purple'],
  22: ['知识库：FastGPT', 'blue'],
  23: ['腾讯混元', 'teal'],
  24: ['Gemini', 'orange'],
  25: ['Moonshot AI', 'black'],
  26: ['百川大模型', 'orange'],
  27: ['MiniMax', 'red'],
  28: ['Mistral AI', 'orange'],
  29: ['Groq', 'orange'],
  30: ['Ollama', 'black'],
  31: ['零一万物', 'green'],
  32: ['阶跃星辰', 'blue'],
  33: ['AWS', 'black'],
  34: ['Coze', 'blue'],
  35: ['Cohere', 'blue'],
  36: ['DeepSeek', 'black'],
  37: ['Cloudflare', 'orange'],
  38: ['DeepL', 'black'],
  39: ['together.ai', 'blue'],
  40: ['字节火山引擎', 'blue'],
  41: ['Novita', 'purple'],
  42: ['VertexAI', 'blue'],
  43: ['Proxy', 'blue'],
  44: ['SiliconFlow', 'blue'],
  45: ['xAI', 'blue'],
  46: ['Replicate', 'blue'],
  47: ['百度文心千帆 V2', 'blue'],
  48: ['讯飞星火认知 V2', 'blue'],
  49: ['阿里云百炼', 'orange'],
  50: ['OpenAI 兼容', 'olive'],
  51: ['Gemini (OpenAI)', 'orange'],
  // Added by forks of One API.
  52: ['Anthropic 兼容', 'black'],
}

describe('rows', () => {
  test('every type has a row, and the list contains each type once', () => {
    const listed = channelTypesInListOrder.map((row) => row.type)
    expect(listed.toSorted((a, b) => a - b)).toEqual(allTypes)
    expect(listed.slice(0, 6)).toEqual([1, 50, 14, 52, 33, 3])
  })

  test.each(wireTypes)('type %i is named and coloured as on the wire', (type) => {
    const row = channelType(type)
    expect([row.label.zh, row.color]).toEqual(labels[type])
  })

  test.each(allTypes)('type %i has an English name', (type) => {
    expect(channelType(type).label.en).not.toMatch(/[\u4E00-\u9FFF：]/)
  })

  test('an unknown type is grey, keeps its number and can be called', () => {
    for (const type of [0, 9998, 9999, -1]) {
      expect(channelType(type)).toMatchObject({ type, color: 'grey', label: { zh: '未知' } })
    }
    expect(upstreamUrl(9999, 'https://a.example', CHAT)).toBe(`https://a.example${CHAT}`)
  })

  test('the address is optional only for types with a default address', () => {
    const optionalWithout = channelTypesInListOrder
      .filter((row) => row.baseUrlField.mode === 'optional' && row.baseUrl === '')
      .map((row) => row.type)
    // 18 has a fixed WebSocket host and 42 a host per region; their adapters set it.
    expect(optionalWithout.toSorted((a, b) => a - b)).toEqual([18, 42])
    for (const row of channelTypesInListOrder) {
      expect(row.baseUrl).not.toMatch(/\/$/)
      if (row.baseUrlField.mode === 'required') expect(row.baseUrl).toBe('')
    }
  })

  test('the list puts legacy types into their own section', () => {
    const { current, legacy } = channelTypeSections()
    expect(legacy.map((row) => row.type).toSorted((a, b) => a - b)).toEqual([
      2, 4, 5, 6, 7, 9, 10, 11, 12, 13, 21,
    ])
    expect(current.length + legacy.length).toBe(allTypes.length)
  })

  test('the form of each type has the fields that its adapter needs', () => {
    const asks = (type: number) =>
      channelType(type).fields.map((field) => [
        field.config,
        ...(field.alsoOther ? ['other'] : []),
        ...(field.required ? ['required'] : []),
        ...(field.secret ? ['secret'] : []),
      ])
    expect(asks(3)).toEqual([['api_version', 'other'], ['deployment_dots']])
    expect(channelType(3).fields[0]?.default).toBe('2024-03-01-preview')
    expect(asks(17)).toEqual([['plugin', 'other']])
    expect(asks(18)).toEqual([['api_version', 'other']])
    expect(asks(21)).toEqual([['library_id', 'other']])
    expect(asks(24)).toEqual([['api_version', 'other']])
    expect(asks(33)).toEqual([
      ['region', 'required'],
      ['ak', 'required', 'secret'],
      ['sk', 'required', 'secret'],
    ])
    expect(asks(34)).toEqual([['user_id', 'required']])
    expect(asks(37)).toEqual([['user_id', 'required']])
    expect(asks(42)).toEqual([
      ['region', 'required'],
      ['vertex_ai_project_id', 'required'],
      ['vertex_ai_adc', 'required', 'secret'],
    ])
    const withFields = channelTypesInListOrder.filter((row) => row.fields.length > 0)
    expect(withFields.map((row) => row.type).toSorted((a, b) => a - b)).toEqual([
      3, 17, 18, 21, 24, 33, 34, 37, 42,
    ])
  })

  test('only the raw proxy needs no models; composed keys are not entered', () => {
    expect(
      channelTypesInListOrder.filter((row) => !row.needsModels).map((row) => row.type),
    ).toEqual([43])
    expect(channelType(43).hiddenFields).toEqual(['models', 'model_mapping', 'system_prompt'])
    for (const type of [33, 42]) expect(channelType(type).hiddenFields).toEqual(['key', 'batch'])
    expect(channelType(33).baseUrlField.mode).toBe('hidden')
  })
})

/** Paths of a chat request below the address, for types with the OpenAI protocol. */
const chatPaths: Record<number, string> = {
  27: '/v1/text/chatcompletion_v2',
  40: '/api/v3/chat/completions',
  41: '/chat/completions',
  47: '/v2/chat/completions',
  49: '/compatible-mode/v1/chat/completions',
  50: '/chat/completions',
  51: '/chat/completions',
}
const ownProtocol = [3, 11, 14, 15, 16, 17, 18, 21, 23, 24, 30, 33, 34, 35, 37, 38, 42, 43, 46, 52]

test.each([
  [47, 'bce-v3/a/b', 'bce-v3/a/b', null],
  [47, 'bce-v3/a/b | app-1', 'bce-v3/a/b', 'app-1'],
  [47, 'bce-v3/a/b|', 'bce-v3/a/b', null],
  [1, 'sk-a|b', 'sk-a|b', null],
])('the bearer token of a key of type %i, %j, is %j', (type, key, secret, appId) => {
  expect(bearerOf(type, key)).toEqual({ secret, appId })
})

describe('upstreamUrl', () => {
  test.each(allTypes)('type %i: builds the URL of a chat request', (type) => {
    const url = upstreamUrl(type, 'https://up.example/', CHAT)
    if (ownProtocol.includes(type)) expect(url).toBeNull()
    else expect(url).toBe(`https://up.example${chatPaths[type] ?? CHAT}`)
  })

  test('matches the recorded upstream URLs for every type with the OpenAI protocol', () => {
    const sent = recordedChatPaths()
    const types = wireTypes.filter((type) => !ownProtocol.includes(type))
    // The recording has no request of types 22 and 26.
    expect(types.filter((type) => !sent.has(type))).toEqual([22, 26])
    for (const type of types.filter((known) => sent.has(known))) {
      expect(upstreamUrl(type, 'http://up', CHAT)).toBe(`http://up${sent.get(type)}`)
    }
  })

  test("an empty address selects the type's default", () => {
    expect(upstreamUrl(1, '', CHAT)).toBe('https://api.openai.com/v1/chat/completions')
    expect(upstreamUrl(20, ' ', CHAT)).toBe('https://openrouter.ai/api/v1/chat/completions')
    expect(upstreamUrl(29, '', CHAT)).toBe('https://api.groq.com/openai/v1/chat/completions')
    expect(upstreamUrl(41, '', CHAT)).toBe('https://api.novita.ai/v3/openai/chat/completions')
    expect(upstreamUrl(51, '', CHAT)).toBe(
      'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
    )
    expect(upstreamUrl(8, '', CHAT)).toBeNull()
    expect(upstreamUrl(50, '', CHAT)).toBeNull()
  })

  test.each([
    [1, 'https://a.example/v1', 'https://a.example/v1/chat/completions'],
    [8, 'https://a.example/v1/', 'https://a.example/v1/chat/completions'],
    [50, 'https://a.example/v1', 'https://a.example/v1/chat/completions'],
    [50, 'https://a.example/api/paas/v4', 'https://a.example/api/paas/v4/chat/completions'],
    [50, 'https://a.example', 'https://a.example/chat/completions'],
    [40, 'https://ark.example/api/v3', 'https://ark.example/api/v3/chat/completions'],
    [47, 'https://q.example/v2', 'https://q.example/v2/chat/completions'],
    [47, 'https://q.example/v2/coding', 'https://q.example/v2/coding/chat/completions'],
    [
      47,
      'https://q.example/v2/tokenplan/team/',
      'https://q.example/v2/tokenplan/team/chat/completions',
    ],
    [48, 'https://s.example/x2/', 'https://s.example/x2/chat/completions'],
    [48, 'https://s.example/x', 'https://s.example/x/v2/chat/completions'],
    [1, 'https://s.example/x2', 'https://s.example/x2/v1/chat/completions'],
    [47, 'https://q.example/coding', 'https://q.example/coding/v2/chat/completions'],
    [
      49,
      'https://d.example/compatible-mode/v1',
      'https://d.example/compatible-mode/v1/chat/completions',
    ],
    [27, 'https://m.example/v1', 'https://m.example/v1/chat/completions'],
    [1, 'https://a.example/v1beta', 'https://a.example/v1beta/chat/completions'],
    // A host is not a path, and a word that begins with v is not a version.
    [1, 'https://v1', 'https://v1/v1/chat/completions'],
    [1, 'https://a.example/vault', 'https://a.example/vault/v1/chat/completions'],
    [1, 'https://a.example/v', 'https://a.example/v/v1/chat/completions'],
  ])('type %i at %s', (type, base, url) => {
    expect(upstreamUrl(type, base, CHAT, type === 48 ? 'spark-x' : '')).toBe(url)
  })

  test('the address of one part of an API gives access to all parts', () => {
    const deepseek = 'https://api.deepseek.com'
    for (const base of [deepseek, `${deepseek}/v1`]) {
      expect(upstreamUrl(36, base, CHAT)).toBe(`${deepseek}/v1/chat/completions`)
      expect(upstreamUrl(36, base, '/v1/completions')).toBe(`${deepseek}/beta/completions`)
    }
    const elsewhere = 'https://d.example/v1'
    expect(upstreamUrl(36, elsewhere, '/v1/completions')).toBe(`${elsewhere}/completions`)
    const bailian = 'https://dashscope-intl.aliyuncs.com'
    for (const path of ['', '/api/v1', '/compatible-mode', '/compatible-mode/v1']) {
      const chat = `${bailian}/compatible-mode/v1/chat/completions`
      expect(upstreamUrl(49, bailian + path, CHAT)).toBe(chat)
    }
    const proxy = 'https://d.example/x'
    expect(upstreamUrl(49, `${proxy}/api/v1`, CHAT)).toBe(`${proxy}/api/v1/chat/completions`)
    expect(upstreamUrl(49, `${proxy}/compatible-mode`, CHAT)).toBe(
      `${proxy}/compatible-mode/v1/chat/completions`,
    )
  })

  test("the Cloudflare gateway has OpenAI's paths without a version", () => {
    const base = 'https://gateway.ai.cloudflare.com/v1/account/gateway/openai'
    expect(upstreamUrl(1, base, CHAT)).toBe(`${base}/chat/completions`)
    expect(upstreamUrl(29, base, CHAT)).toBe(`${base}${CHAT}`)
    const lookalike = 'https://gateway.ai.cloudflare.com.example/openai'
    expect(upstreamUrl(1, lookalike, CHAT)).toBe(`${lookalike}${CHAT}`)
  })

  test.each([
    [1, '/v1/embeddings', '/v1/embeddings'],
    [40, '/v1/embeddings', '/api/v3/embeddings'],
    [40, '/v1/images/generations', '/api/v3/images/generations'],
    [47, '/v1/rerank', '/v2/rerank'],
    [49, '/v1/embeddings', '/compatible-mode/v1/embeddings'],
    [49, '/v1/responses', '/api/v2/apps/protocols/compatible-mode/v1/responses'],
    [49, '/v1/messages', '/apps/anthropic/v1/messages'],
    [25, '/v1/messages', '/anthropic/v1/messages'],
    [27, '/v1/messages', '/anthropic/v1/messages'],
    [27, '/v1/embeddings', '/v1/embeddings'],
    [36, '/v1/messages', '/anthropic/v1/messages'],
    [36, '/v1/completions', '/beta/completions'],
    [51, '/v1/embeddings', '/embeddings'],
    [1, '/v1/chat/completions?beta=true', '/v1/chat/completions?beta=true'],
    [50, '/v1/models?limit=2', '/models?limit=2'],
    // Paths outside /v1 stay unchanged.
    [50, '/v1beta/models', '/v1beta/models'],
    [40, '/dashboard/billing/usage', '/dashboard/billing/usage'],
    // A path is not looked up on the object prototype.
    [36, 'constructor', 'constructor'],
  ])('type %i: %s', (type, path, expected) => {
    expect(upstreamUrl(type, 'https://up.example', path)).toBe(`https://up.example${expected}`)
  })

  test.each([
    ['x1', '/v2'],
    ['spark-x', '/v2'],
    ['4.0Ultra', '/v1'],
    ['generalv3.5', '/v1'],
  ])('type 48 has the path of model %s under %s', (model, version) => {
    const base = 'https://up.example'
    expect(upstreamUrl(48, base, CHAT, model)).toBe(`${base}${version}/chat/completions`)
    expect(upstreamUrl(1, base, CHAT, model)).toBe(base + CHAT)
  })

  test('assistants of type 40 have their own path', () => {
    const base = 'https://up.example'
    expect(upstreamUrl(40, base, CHAT, 'bot-2025')).toBe(`${base}/api/v3/bots/chat/completions`)
    expect(upstreamUrl(40, `${base}/api/v3`, CHAT, 'bot-2025')).toBe(
      `${base}/api/v3/bots/chat/completions`,
    )
    expect(upstreamUrl(40, base, CHAT, 'doubao-seed-1.6')).toBe(`${base}/api/v3/chat/completions`)
    expect(upstreamUrl(1, base, CHAT, 'bot-2025')).toBe(`${base}${CHAT}`)
  })

  test('white space around an address and trailing slashes are removed', () => {
    expect(trimBaseUrl('  https://a.example/x// ')).toBe('https://a.example/x')
    expect(trimBaseUrl('///')).toBe('')
  })
})

describe('keys', () => {
  test.each([
    [1, ' sk-1|2 ', ['sk-1|2']],
    [15, 'ak|sk', ['ak', 'sk']],
    [15, 'ak', null],
    [15, 'ak|sk|more', null],
    [15, 'ak|', null],
    [16, 'id.secret', ['id', 'secret']],
    [18, 'app | secret | key', ['app', 'secret', 'key']],
    [18, 'app|secret', null],
    [22, 'fastgpt-abc-def', ['fastgpt-abc-def']],
    [23, '1|2|3', ['1', '2', '3']],
    [33, 'AK|s/k+=|us-west-2', ['AK', 's/k+=', 'us-west-2']],
    [33, 'AK|us-west-2', null],
    [33, 'ABSKx=|us-west-2', ['ABSKx=', 'us-west-2']],
    [33, 'ABSKx=|SK|us-west-2', null],
    [42, 'us|project|{"a":"x|y"}', ['us', 'project', '{"a":"x|y"}']],
    [42, 'us|project', null],
    [1, '  ', null],
  ])('splitKey(%i, %s)', (type, key, parts) => {
    expect(splitKey(type, key)).toEqual(parts)
  })

  test('composeKey joins the fields in the order the adapter expects', () => {
    expect(composeKey(33, { region: 'us-west-2', ak: ' AK ', sk: 'SK' })).toBe('AK|SK|us-west-2')
    expect(
      composeKey(42, { region: 'r', vertex_ai_project_id: 'p', vertex_ai_adc: '{"a":1}' }),
    ).toBe('r|p|{"a":1}')
  })

  test('composeKey omits the second part if the first is a complete key', () => {
    const config = { region: 'us-west-2', ak: ' bedrock-api-key-x ' }
    expect(composeKey(33, config)).toBe('bedrock-api-key-x|us-west-2')
    expect(composeKey(33, { ...config, sk: 'an earlier one' })).toBe('bedrock-api-key-x|us-west-2')
    expect(composeKey(33, { ak: 'ABSKx' })).toBe('')
  })

  test('composeKey returns no key if fields are empty', () => {
    expect(composeKey(33, { ak: 'AK', sk: 'SK' })).toBe('')
    expect(composeKey(33, { ak: 'undefined', sk: 'undefined', region: 'undefined' })).toBe('')
    expect(composeKey(1, {})).toBe('')
  })

  test('a placeholder shows the parts in order', () => {
    expect(channelType(15).key.placeholder.zh).toContain('APIKey|SecretKey')
    expect(channelType(18).key.placeholder.zh).toContain('APPID|APISecret|APIKey')
    expect(channelType(22).key.placeholder.zh).toContain('APIKey-AppId')
    expect(channelType(23).key.placeholder.en).toContain('AppId|SecretId|SecretKey')
  })
})

describe('balanceText', () => {
  const formatQuota = (quota: number) => `quota ${quota}`
  test.each([
    [1, 12.3, '$12.30'],
    [8, 12.3, '$12.30'],
    [20, 0, '$0.00'],
    [4, 12.3, '¥12.30'],
    [12, 12.3, '¥12.30'],
    [36, 12.3, '¥12.30'],
    [44, 12.3, '¥12.30'],
    [5, 123_400, '¥12.34'],
    [10, 7, 'quota 7'],
    [13, 7, 'quota 7'],
    [14, 7, null],
    [9999, 7, null],
  ])('type %i', (type, balance, text) => {
    expect(balanceText(type, balance, formatQuota)).toBe(text)
  })

  test('other types have no balance', () => {
    const asked = channelTypesInListOrder.filter((row) => row.balance !== null)
    expect(asked.map((row) => row.type).toSorted((a, b) => a - b)).toEqual([
      1, 4, 5, 8, 10, 12, 13, 20, 25, 36, 44,
    ])
  })
})

/** Type → path of the plain chat request in the recordings, where the upstream received one. */
function recordedChatPaths(): Map<number, string> {
  const file = new URL('../../fixtures/recordings/upstreams.json', import.meta.url)
  // The recordings are a fixture of this repository with this shape.
  const { steps } = JSON.parse(readFileSync(file, 'utf8')) as {
    steps: { name: string; answer: { upstream?: { url: string }[] } }[]
  }
  const paths = new Map<number, string>()
  for (const step of steps) {
    const type = /^type (\d+), plain$/.exec(step.name)?.[1]
    const url = step.answer.upstream?.[0]?.url
    if (type && url) paths.set(Number(type), url)
  }
  return paths
}
