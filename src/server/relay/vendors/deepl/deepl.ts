import { baseUrlOf, beside } from '../../../channel/upstream/channel-upstream.ts'
import { namesIn } from '../shared/model-list.ts'
import { names, nativeVendor } from '../vendor.ts'
import { deeplHeaders, deeplUrl, deeplWire } from './address.ts'
import {
  charactersIn,
  DEEPL_LACKS,
  noStream,
  readTranslation,
  writeDeeplRequest,
} from './translation.ts'

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
  // Keys of the free plan end in `:fx`, and only the free address knows them.
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
    // A wrong key comes with 403. Source: DeepL's API reference, "Error handling".
    meaning: ({ status }) => (status === 403 ? { status: 401 } : undefined),
  },
  // It lists languages; a model is named after the language it translates to.
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
      pictures: 'no',
      tools: 'no',
      json: 'no',
      thinking: 'no',
      usage:
        'characters of the text, as prompt tokens, counted here where DeepL does not say; the ' +
        'translation costs nothing',
    },
    notes: [
      'A model names the language: `deepl-ja`, `deepl-en-gb`; `-more` or `-less` behind it, how ' +
        'formal the translation is to be.',
      'The last message of the user is translated. What was said before, limits and figures for ' +
        'sampling mean nothing to a translator and are left behind.',
      'Keys that end in `:fx` go to the address of the free plan, all others to the paid one.',
      'An account whose characters are spent (456) counts as one without money (402).',
    ],
  },
})
