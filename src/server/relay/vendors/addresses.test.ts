import { describe, expect, test } from 'vitest'
import { channelType, channelTypesInListOrder } from '../../../contract/channel-types.ts'
import { defaultModels } from '../../channel/default-models.ts'
import { providerOf } from './registry.ts'
import type { ProviderCall, ProviderChannel, Task } from '../protocols/dialect/provider.ts'
import { aProviderCall } from '../../test/provider-call.ts'

/** Expected URLs, byte for byte, as in the vendors' API references. */

function urlOf(type: number, channel: Partial<ProviderChannel>, call: Partial<ProviderCall> = {}) {
  const to = aProviderCall(call)
  const from = { type, key: 'k', baseUrl: '', apiVersion: '', ...channel }
  return providerOf(type, to.model, to.task)?.url(from, to) ?? null
}

const ACCOUNT = { config: { user_id: 'abc' } }
const AWS = { key: 'AK|S/K+|eu-west-1' }
const GOOGLE = { key: 'us-east5|our-project|{"a":"b|c"}' }
const google = (publisher: string, rest: string, region = 'us-east5') =>
  `/v1/projects/our-project/locations/${region}/publishers/${publisher}/models/${rest}`
const BAILIAN = 'https://dashscope.aliyuncs.com'
const AWS_HOST = 'https://bedrock-runtime.eu-west-1.amazonaws.com'
const GOOGLE_HOST = 'https://us-east5-aiplatform.googleapis.com'

type Row = [number, Partial<ProviderChannel>, Partial<ProviderCall>, string | null]

describe.each<[string, Row[]]>([
  [
    'Ollama',
    [
      [30, {}, {}, 'http://localhost:11434/api/chat'],
      [30, { baseUrl: 'http://gpu:1/v1' }, { task: 'embeddings' }, 'http://gpu:1/api/embed'],
      [30, {}, { task: 'moderations' }, null],
    ],
  ],
  [
    'Zhipu',
    [
      [16, {}, {}, 'https://open.bigmodel.cn/api/paas/v4/chat/completions'],
      [16, {}, { task: 'embeddings' }, 'https://open.bigmodel.cn/api/paas/v4/embeddings'],
      [
        16,
        { baseUrl: 'https://api.z.ai/api/coding/paas/v4' },
        {},
        'https://api.z.ai/api/coding/paas/v4/chat/completions',
      ],
    ],
  ],
  [
    'DashScope',
    [
      [17, {}, {}, 'https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions'],
      [17, { baseUrl: 'https://a.b/x/v1' }, { task: 'embeddings' }, 'https://a.b/x/v1/embeddings'],
      [
        17,
        {},
        { task: 'rerank' },
        'https://dashscope.aliyuncs.com/api/v1/services/rerank/text-rerank/text-rerank',
      ],
      [
        17,
        { baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' },
        { task: 'images', model: 'wan2.5-t2i-preview' },
        'https://dashscope-intl.aliyuncs.com/api/v1/services/aigc/text2image/image-synthesis',
      ],
      [
        17,
        { baseUrl: 'https://dashscope-intl.aliyuncs.com/api/v1' },
        { task: 'images', model: 'wan2.6-t2i' },
        'https://dashscope-intl.aliyuncs.com/api/v1/services/aigc/multimodal-generation/generation',
      ],
      ...['', '/api/v1', '/compatible-mode', '/compatible-mode/v1'].map((path): Row => [
        17,
        { baseUrl: `https://dashscope-intl.aliyuncs.com${path}` },
        {},
        'https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions',
      ]),
      [17, { baseUrl: 'https://a.b/api/v1' }, {}, 'https://a.b/api/v1/chat/completions'],
      [17, {}, { task: 'speech' }, null],
    ],
  ],
  [
    'Bailian',
    [
      [49, {}, { task: 'embeddings' }, `${BAILIAN}/compatible-mode/v1/embeddings`],
      [
        49,
        { baseUrl: `${BAILIAN}/compatible-mode/v1` },
        { task: 'rerank', model: 'qwen3-rerank' },
        `${BAILIAN}/api/v1/services/rerank/text-rerank/text-rerank`,
      ],
      [
        49,
        {},
        { task: 'images', model: 'qwen-image-max' },
        `${BAILIAN}/api/v1/services/aigc/multimodal-generation/generation`,
      ],
    ],
  ],
  [
    'Cloudflare',
    [
      [37, ACCOUNT, {}, 'https://api.cloudflare.com/client/v4/accounts/abc/ai/v1/chat/completions'],
      [37, {}, {}, null],
      ...['', '/accounts/other', '/accounts/other/ai', '/accounts/other/ai/v1'].map((path): Row => [
        37,
        { ...ACCOUNT, baseUrl: `https://api.cloudflare.com/client/v4${path}` },
        {},
        'https://api.cloudflare.com/client/v4/accounts/abc/ai/v1/chat/completions',
      ]),
      ...['', '/workers-ai', '/workers-ai/v1'].map((path): Row => [
        37,
        { baseUrl: `https://gateway.ai.cloudflare.com/v1/acc/gate${path}` },
        { task: 'embeddings' },
        'https://gateway.ai.cloudflare.com/v1/acc/gate/workers-ai/v1/embeddings',
      ]),
      [
        37,
        { config: { user_id: '../x' } },
        {},
        'https://api.cloudflare.com/client/v4/accounts/..%2Fx/ai/v1/chat/completions',
      ],
    ],
  ],
  [
    'Cohere',
    [
      [35, {}, {}, 'https://api.cohere.ai/v2/chat'],
      [35, { baseUrl: 'https://api.cohere.com/v1' }, {}, 'https://api.cohere.com/v2/chat'],
      [35, {}, { task: 'embeddings' }, 'https://api.cohere.ai/v2/embed'],
      [35, {}, { task: 'rerank', model: 'rerank-v3.5' }, 'https://api.cohere.ai/v2/rerank'],
    ],
  ],
  [
    'Bedrock',
    [
      [
        33,
        AWS,
        { model: 'us.amazon.nova-pro-v1:0' },
        `${AWS_HOST}/model/us.amazon.nova-pro-v1%3A0/converse`,
      ],
      [33, AWS, { model: 'm', isStream: true }, `${AWS_HOST}/model/m/converse-stream`],
      [
        33,
        AWS,
        { model: 'arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-x-v1:0' },
        `${AWS_HOST}/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.anthropic.claude-x-v1%3A0/invoke`,
      ],
      [
        33,
        AWS,
        { model: 'claude-sonnet-4-5-20250929', isStream: true },
        `${AWS_HOST}/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream`,
      ],
      [
        33,
        AWS,
        { model: 'claude-3-haiku-20240307' },
        `${AWS_HOST}/model/anthropic.claude-3-haiku-20240307-v1%3A0/invoke`,
      ],
      [
        33,
        AWS,
        { model: 'claude-3-5-sonnet-20241022' },
        `${AWS_HOST}/model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/invoke`,
      ],
      [
        33,
        AWS,
        { model: 'amazon.titan-embed-text-v2:0', task: 'embeddings' },
        `${AWS_HOST}/model/amazon.titan-embed-text-v2%3A0/invoke`,
      ],
      [33, AWS, { model: 'm', task: 'embeddings' }, null],
      [
        33,
        { key: 'AK|SK|cn-north-1' },
        {},
        'https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/m/converse',
      ],
      [
        33,
        { key: 'AK|SK|ap-northeast-1' },
        { model: 'claude-opus-5-5' },
        'https://bedrock-runtime.ap-northeast-1.amazonaws.com/model/jp.anthropic.claude-opus-5-5/invoke',
      ],
      ...[
        ['ap-southeast-1', 'global'],
        ['ap-south-1', 'global'],
        ['ap-southeast-2', 'au'],
        ['ca-central-1', 'us'],
        ['sa-east-1', 'global'],
        ['me-central-1', 'global'],
        ['us-gov-west-1', 'us-gov'],
      ].map(([region, prefix]): Row => [
        33,
        { key: `AK|SK|${region}` },
        { model: 'claude-haiku-4-5-20251001' },
        `https://bedrock-runtime.${region}.amazonaws.com/model/${prefix}.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke`,
      ]),
      [
        33,
        { key: 'AK|SK|ap-southeast-1' },
        { model: 'claude-sonnet-4-20250514' },
        'https://bedrock-runtime.ap-southeast-1.amazonaws.com/model/apac.anthropic.claude-sonnet-4-20250514-v1%3A0/invoke',
      ],
      ...(
        [
          // Names without a date, and those that point to another model.
          ['us-east-1', 'claude-haiku-4-5', 'us.anthropic.claude-haiku-4-5-20251001-v1:0'],
          ['us-east-1', 'claude-opus-4-1', 'us.anthropic.claude-opus-4-1-20250805-v1:0'],
          ['eu-west-1', 'claude-sonnet-4-0', 'eu.anthropic.claude-sonnet-4-20250514-v1:0'],
          ['eu-west-1', 'claude-3-7-sonnet-latest', 'eu.anthropic.claude-3-7-sonnet-20250219-v1:0'],
          ['us-east-1', 'claude-3-5-sonnet-latest', 'anthropic.claude-3-5-sonnet-20241022-v2:0'],
          [
            'ap-south-1',
            'claude-3-5-sonnet-latest',
            'apac.anthropic.claude-3-5-sonnet-20241022-v2:0',
          ],
          ['eu-west-1', 'claude-opus-4-6', 'eu.anthropic.claude-opus-4-6-v1'],
          // Countries whose profiles do not have the model.
          ['eu-west-1', 'claude-fable-5', 'global.anthropic.claude-fable-5'],
          ['ap-northeast-1', 'claude-sonnet-5', 'global.anthropic.claude-sonnet-5'],
          ['ap-northeast-1', 'claude-opus-4-8', 'jp.anthropic.claude-opus-4-8'],
          ['ap-southeast-2', 'claude-opus-4-5', 'global.anthropic.claude-opus-4-5-20251101-v1:0'],
          ['ap-southeast-2', 'claude-sonnet-5', 'au.anthropic.claude-sonnet-5'],
          // Models of other makers, with and without profiles.
          ['us-east-1', 'amazon-nova-lite', 'us.amazon.nova-lite-v1:0'],
          ['ap-south-1', 'amazon-nova-pro', 'apac.amazon.nova-pro-v1:0'],
          ['eu-west-2', 'amazon-nova-lite', 'amazon.nova-lite-v1:0'],
          ['us-gov-west-1', 'amazon-nova-lite', 'amazon.nova-lite-v1:0'],
          ['eu-west-2', 'amazon-nova-2-lite', 'global.amazon.nova-2-lite-v1:0'],
          ['us-east-1', 'llama3-3-70b-128k', 'us.meta.llama3-3-70b-instruct-v1:0'],
          ['eu-west-1', 'mistral-pixtral-large-2502', 'eu.mistral.pixtral-large-2502-v1:0'],
          ['eu-west-1', 'gpt-oss-120b', 'openai.gpt-oss-120b-1:0'],
          // Bedrock ids, and names that are unknown here.
          ['us-east-1', 'amazon.nova-lite-v1:0', 'amazon.nova-lite-v1:0'],
          ['us-east-1', 'constructor', 'constructor'],
        ] as const
      ).map(([region, model, id]): Row => [
        33,
        { key: `AK|SK|${region}` },
        { model },
        `https://bedrock-runtime.${region}.amazonaws.com/model/${encodeURIComponent(id)}/${id.includes('claude') ? 'invoke' : 'converse'}`,
      ]),
      [
        33,
        AWS,
        { model: 'amazon-titan-embed-text', task: 'embeddings' },
        `${AWS_HOST}/model/amazon.titan-embed-text-v1/invoke`,
      ],
      [33, { key: 'ABSKx|eu-west-1' }, {}, `${AWS_HOST}/model/m/converse`],
      [33, { key: 'bedrock-api-key-x|eu-west-1' }, {}, `${AWS_HOST}/model/m/converse`],
      [33, { key: 'ABSKx' }, {}, null],
      // A region must not lead to another host.
      [33, { key: 'AK|SK|evil.example/x' }, {}, null],
      [33, { key: 'AK|SK' }, {}, null],
      [33, AWS, { model: '..' }, null],
    ],
  ],
  [
    'Vertex',
    [
      [
        42,
        GOOGLE,
        { model: 'gemini-2.5-pro' },
        GOOGLE_HOST + google('google', 'gemini-2.5-pro:generateContent'),
      ],
      [
        42,
        GOOGLE,
        { model: 'models/gemini-2.5-pro', isStream: true },
        GOOGLE_HOST + google('google', 'gemini-2.5-pro:streamGenerateContent?alt=sse'),
      ],
      [
        42,
        { key: 'global|our-project|{}' },
        { model: 'claude-opus-4-1-20250805' },
        `https://aiplatform.googleapis.com${google('anthropic', 'claude-opus-4-1%4020250805:rawPredict', 'global')}`,
      ],
      [
        42,
        { key: 'eu|our-project|{}' },
        { model: 'claude-3-5-sonnet-20241022', isStream: true },
        `https://aiplatform.eu.rep.googleapis.com${google('anthropic', 'claude-3-5-sonnet-v2%4020241022:streamRawPredict', 'eu')}`,
      ],
      [
        42,
        GOOGLE,
        { model: 'meta/llama-3.3-70b-instruct-maas' },
        `${GOOGLE_HOST}/v1beta1/projects/our-project/locations/us-east5/endpoints/openapi/chat/completions`,
      ],
      [
        42,
        GOOGLE,
        { model: 'codestral-2' },
        GOOGLE_HOST + google('mistralai', 'codestral-2:rawPredict'),
      ],
      [
        42,
        GOOGLE,
        { model: 'mistralai/mistral-large@2407', isStream: true },
        GOOGLE_HOST + google('mistralai', 'mistral-large%402407:streamRawPredict'),
      ],
      [42, GOOGLE, { task: 'embeddings', model: 'mistral-embed' }, null],
      [
        42,
        GOOGLE,
        { task: 'embeddings', model: 'text-embedding-005' },
        GOOGLE_HOST + google('google', 'text-embedding-005:predict'),
      ],
      [
        42,
        GOOGLE,
        { task: 'embedContent', model: 'models/gemini-embedding-2' },
        GOOGLE_HOST + google('google', 'gemini-embedding-2:embedContent'),
      ],
      [42, GOOGLE, { task: 'embeddings', model: 'claude-opus-4-1' }, null],
      [
        42,
        GOOGLE,
        { task: 'images', model: 'imagen-4.0-generate-001' },
        GOOGLE_HOST + google('google', 'imagen-4.0-generate-001:predict'),
      ],
      [
        42,
        GOOGLE,
        { task: 'images', model: 'gemini-2.5-flash-image', isStream: true },
        GOOGLE_HOST + google('google', 'gemini-2.5-flash-image:generateContent'),
      ],
      [42, GOOGLE, { task: 'imageEdits', model: 'imagen-4.0-generate-001' }, null],
      [42, GOOGLE, { task: 'images', model: 'claude-opus-4-1' }, null],
      [42, GOOGLE, { task: 'speech', model: 'meta/llama-3.3-70b-instruct-maas' }, null],
      [42, GOOGLE, { task: 'rerank' }, null],
      [42, { key: 'evil.example/|p|{}' }, { model: 'gemini-2.5-pro' }, null],
      [42, { key: 'us-east5|../p|{}' }, { model: 'gemini-2.5-pro' }, null],
    ],
  ],
])('%s', (_label, rows) => {
  test.each(rows)('%i %j %j: %s', (type, channel, call, url) => {
    expect(urlOf(type, channel, call)).toBe(url)
  })
})

test.each(['us-east-1', 'eu-west-2', 'ap-northeast-1', 'ca-central-1'])(
  'Bedrock knows all that its form offers by a maker’s id: %s',
  (region) => {
    const key = { key: `AK|SK|${region}` }
    const unknown = (defaultModels(33) ?? []).filter((model) => {
      const task = model.includes('embed') ? 'embeddings' : 'chat'
      const [, id = ''] = /\/model\/([^/]+)\//.exec(urlOf(33, key, { model, task }) ?? '') ?? []
      return !/^(?:[a-z]+\.)?[a-z\d]+\.[a-z\d]/.test(decodeURIComponent(id))
    })
    expect(unknown).toEqual([])
  },
)

/** Name of a model for a task other than chat; null if the type does not support the task. */
const PURPOSES: readonly [name: RegExp, task: Task | null][] = [
  [/realtime|-live-|native-audio|^sora-|cogvideo|imagine-video|async|^aqa$|^glm-ocr$/, null],
  [/image-edit|davinci-edit|tts-clone|embedding-vision|resnet|distilbert|m2m100|indictrans/, null],
  [/^gemini-/, 'chat'],
  [/rerank/, 'rerank'],
  [/whisper|transcribe|-asr|nova-3|smart-turn/, 'transcriptions'],
  [/tts|\/aura-/, 'speech'],
  [
    /flux|gpt-image|imagen-|seedream|dall-e|diffusion|cogview-|wanx|qwen-image|lucid|phoenix/,
    'images',
  ],
]

test.each(channelTypesInListOrder.filter((row) => !row.retired).map((row) => [row.type, row]))(
  'type %i has an address for everything that its form offers',
  (type, { key, protocol }) => {
    const special = { bedrock: AWS.key, vertex: GOOGLE.key }[String(protocol)]
    const channel = {
      ...ACCOUNT,
      key: special ?? key.parts.join(key.separator),
      baseUrl: channelType(type).baseUrl || 'https://a.example',
    }
    const unreachable = (defaultModels(type) ?? []).filter((model) => {
      const purpose = PURPOSES.find(([name]) => name.test(model))
      if (purpose === undefined) return false
      const [, task] = purpose
      return task === null || urlOf(type, channel, { model, task }) === null
    })
    expect(unreachable).toEqual([])
  },
)
