import { defaultBaseUrl } from '../../../../contract/channel-types.ts'
import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import { serverSentEvents, type Wire } from '../../transport/wire.ts'
import { namesIn } from '../shared/model-list.ts'
import { NO, names, nativeVendor } from '../vendor.ts'
import {
  charactersIn,
  DEEPL_LACKS,
  noStream,
  readTranslation,
  writeDeeplRequest,
} from './translation.ts'

/** Source: DeepL's API reference, "Translate text" and "Authentication". */
function deeplUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  if (task !== 'chat') return null
  const base = channel.baseUrl || defaultBaseUrl(channel.type, channel.key)
  return `${base.replace(/\/v\d$/, '')}/v2/translate`
}

const deeplHeaders = ({ key }: ProviderChannel): Record<string, string> => ({
  authorization: `DeepL-Auth-Key ${key}`,
})

/** A translation is not streamed; a client that requested a stream gets it as a single event. */
const deeplWire: Wire = {
  ...serverSentEvents,
  accept: 'application/json',
  isStream: () => false,
}

export const deepl = nativeVendor({
  type: 38,
  label: 'DeepL',
  color: 'black',
  baseUrl: 'https://api-free.deepl.com',
  protocol: 'deepl',
  notice: {
    zh: '模型名给出目标语言，如 deepl-zh；以 :fx 结尾的免费密钥与付费密钥各走自己的地址',
    en: 'A model names the language, such as deepl-zh; free and paid keys find their address',
  },
  // Keys of the free plan end in `:fx`, and are valid only at the free host.
  baseUrlForKeys: { keys: /(?<!:fx)$/, baseUrl: 'https://api.deepl.com' },
  listPosition: 330,
  provider: {
    dialect: {
      name: 'deepl',
      writeRequest: writeDeeplRequest,
      lacks: DEEPL_LACKS,
      estimate: charactersIn,
      readAnswer: readTranslation,
      readStream: () => noStream,
    },
    url: deeplUrl,
    headers: deeplHeaders,
    asksForUsage: () => false,
    wire: deeplWire,
  },
  refusals: {
    // DeepL reports a wrong key with status 403. Source: DeepL's API reference, "Error handling".
    meaning: ({ status }) => (status === 403 ? { status: 401 } : undefined),
  },
  // DeepL lists languages; a model is named after the language that it translates to.
  modelList: {
    question: (channel) => ({
      url: beside(baseUrlOf(channel), '/v2/languages?type=target'),
      headers: { authorization: `DeepL-Auth-Key ${channel.key}` },
    }),
    shape: namesIn('data', 'language').transform((languages) =>
      languages.map((language) => `deepl-${language.toLowerCase()}`),
    ),
  },
  models: names(`
    deepl-zh deepl-en deepl-ja
  `),
  owner: 'deepl',
  ownerRank: 23,
  docs: {
    source: 'DeepL, API reference: Translate text, Authentication, Retrieve supported languages',
    chat: {
      images: NO,
      tools: NO,
      json: NO,
      reasoning: NO,
      usage: {
        en: 'the characters of the text as prompt tokens, counted by Gatehouse if DeepL does not report them; completions cost nothing',
        zh: '文本的字符数作为提示的 tokens，DeepL 没有报告时由网关计数；补全不收费',
      },
    },
    notes: [
      {
        en: 'The model name contains the target language: `deepl-ja`, `deepl-en-gb`. The suffix `-more` or `-less` sets the formality.',
        zh: '模型名包含目标语言：`deepl-ja`、`deepl-en-gb`。后缀 `-more` 或 `-less` 决定正式程度。',
      },
      {
        en: 'Only the last user message is translated. Earlier messages, length limits and sampling parameters are ignored.',
        zh: '只翻译用户的最后一条消息。之前的消息、长度上限和采样参数都会忽略。',
      },
      {
        en: 'Keys that end in `:fx` use the address of the free plan, all others that of the paid plan.',
        zh: '以 `:fx` 结尾的密钥使用免费版的地址，其余使用付费版的地址。',
      },
      {
        en: 'Status 456 (character limit reached) is treated as 402 (no credit).',
        zh: '状态 456（字符数用完）按 402（余额不足）处理。',
      },
    ],
  },
})
