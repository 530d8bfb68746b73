import { toggleOption } from '../../../model/capabilities.ts'
import { byObjectAlone } from '../../protocols/openai-chat/thinking/switches.ts'
import { bearerOf } from '../../../../contract/channel-types.ts'
import type { ProviderChannel } from '../../protocols/dialect/provider.ts'
import { embeddedInParts } from '../shared/embedding-parts.ts'
import { roleEdits } from '../../protocols/openai-chat/message-edits.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { embeds, openaiVendor } from '../openai-vendor.ts'
import { names } from '../vendor.ts'
import { textsAtOnce } from './embedding.ts'

const embedding = inSteps(embeddedInParts(textsAtOnce))

/** An application id may follow the key; it is sent in a header of its own. */
function headers({ type, key }: ProviderChannel): Record<string, string> {
  const { secret, appId } = bearerOf(type, key)
  return { authorization: `Bearer ${secret}`, ...(appId === null ? {} : { appid: appId }) }
}

export const qianfanV2 = openaiVendor({
  type: 47,
  label: { zh: '百度文心千帆 V2', en: 'Baidu Qianfan V2' },
  color: 'blue',
  baseUrl: 'https://qianfan.baidubce.com',
  pathPrefix: '/v2',
  key: {
    appIdSeparator: '|',
    placeholder: {
      zh: 'bce-v3/…；需要指定应用时写作 密钥|appid',
      en: 'bce-v3/…, or key|appid to name an application',
    },
  },
  notice: {
    zh: '需要以 bce-v3/ 开头的千帆密钥；旧的 AK、SK 请选「百度文心千帆」',
    en: 'Takes a Qianfan key that begins with bce-v3/; an older AK and SK are for Baidu Qianfan',
  },
  // The version is in the middle of the path. Source: Qianfan's manual, "Coding Plan", "Token
  // Plan".
  wholeAddress: /\/v2\/(?:coding|tokenplan\/\w+)$/i,
  modelVendor: 'baidu-qianfan',
  listPosition: 140,
  call: {
    headers,
    edits: roleEdits,
    via: (_channel, { task }) => (embeds(task) ? embedding : null),
  },
  traits: {
    // The member depends on the model. Source: Baidu AI Cloud, Qianfan, "深度思考".
    reasoningSwitch: (thinking, effort, model) =>
      toggleOption(model)?.member === 'thinking'
        ? byObjectAlone(thinking, effort, model)
        : { enable_thinking: thinking.kind !== 'off' },
  },
  models: names(`
    ernie-5.1 ernie-5.0 ernie-x1.1 ernie-4.5 ernie-4.5-turbo-32k ernie-4.5-turbo-128k
    ernie-4.5-turbo-vl ernie-x1 ernie-x1-turbo ernie-4.0-8k-latest ernie-4.0-8k-preview ernie-4.0-8k
    ernie-4.0-turbo-8k-latest ernie-4.0-turbo-8k-preview ernie-4.0-turbo-8k ernie-4.0-turbo-128k
    ernie-3.5-8k-preview ernie-3.5-8k ernie-3.5-128k ernie-speed-8k ernie-speed-128k
    ernie-speed-pro-128k ernie-lite-8k ernie-lite-pro-128k ernie-tiny-8k ernie-char-8k
    ernie-char-fiction-8k ernie-novel-8k deepseek-v3 deepseek-r1 deepseek-r1-distill-qwen-32b
    deepseek-r1-distill-qwen-14b deepseek-v3.2 deepseek-v4-pro deepseek-v4-flash
  `),
  owner: 'baiduv2',
  ownerRank: 17,
})
