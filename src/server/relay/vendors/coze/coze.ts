import { field } from '../../../../contract/channel-type-row.ts'
import { channelType } from '../../../../contract/channel-types.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import type { MemberEdit } from '../../json/body-splice.ts'
import type { ProviderCall, ProviderChannel } from '../../protocols/dialect/provider.ts'
import { statedStatus } from '../../protocols/dialect/error-body.ts'
import { namedEvents } from '../shared/named-events.ts'
import { openaiHeaders } from '../openai-vendor.ts'
import { NO, nativeVendor } from '../vendor.ts'
import { readCozeAnswer, readCozeEvent } from './read-answer.ts'
import { COZE_LACKS, writeCozeRequest } from './write-request.ts'

/**
 * Source: Coze's developer guide, "Chat (v3)". Bots of mainland China are at `api.coze.cn`, with
 * the same paths.
 */
function cozeUrl(channel: ProviderChannel, { task }: ProviderCall): string | null {
  const base = (channel.baseUrl || channelType(channel.type).baseUrl).replace(/\/v\d$/, '')
  return task !== 'chat' || base === '' ? null : `${base}/v3/chat`
}

/** Sets the bot's user: the one in the channel's settings takes precedence over the client's. */
function cozeEdits(
  _body: ScannedBody,
  _call: ProviderCall,
  { config }: ProviderChannel,
): MemberEdit[] {
  const user = config?.user_id
  return typeof user === 'string' && user !== ''
    ? [{ set: 'user_id', json: JSON.stringify(user) }]
    : []
}

export const coze = nativeVendor({
  type: 34,
  label: 'Coze',
  color: 'blue',
  baseUrl: 'https://api.coze.com',
  protocol: 'coze',
  fields: [
    field(
      'user_id',
      { zh: '用户 ID', en: 'User ID' },
      { required: true, placeholder: '7012345678901234567' },
    ),
  ],
  notice: {
    zh: '模型名就是智能体（Bot）的 ID，也可写成 bot-<ID>；用户 ID 是创建密钥的那位用户',
    en: 'A model is the id of a bot, or bot-<id>; the user ID is that of the key’s maker',
  },
  listPosition: 290,
  provider: {
    dialect: {
      name: 'coze',
      limitsOutput: false,
      writeRequest: writeCozeRequest,
      lacks: COZE_LACKS,
      readAnswer: readCozeAnswer,
      readStream: () => ({ read: readCozeEvent }),
      statusOf: statedStatus,
    },
    url: cozeUrl,
    // Coze returns every response as a stream.
    headers: (channel) => ({ ...openaiHeaders(channel), accept: namedEvents.accept }),
    asksForUsage: () => false,
    wire: namedEvents,
    edits: cozeEdits,
  },
  models: [],
  docs: {
    source: 'Coze, developer guide: Chat (v3), Streaming response, Error codes',
    chat: {
      images: {
        en: 'by URL, also audio and files; data is rejected',
        zh: '以网址发送，音频和文件也可以；数据会被拒绝',
      },
      tools: { en: 'no: a bot has its own', zh: '不支持：bot 有自己的工具' },
      json: NO,
      reasoning: { en: 'reasoning in the response is returned', zh: '返回响应里的思考' },
      usage: {
        en: 'in the last event; counted by Gatehouse if missing',
        zh: '在最后一个事件里；没有给出时由网关计数',
      },
    },
    notes: [
      {
        en: 'The model is a bot’s id, or `bot-` and the id. The system prompt is sent as the first user message.',
        zh: '模型是 bot 的 ID，或 `bot-` 加 ID。系统提示词作为用户的第一条消息发送。',
      },
      {
        en: 'Output limit, sampling parameters and stop sequences are configured in the bot; those of a client are ignored.',
        zh: '输出上限、采样参数和停止序列在 bot 里设置，客户端的会忽略。',
      },
      {
        en: 'Gatehouse builds responses that are not streamed from a stream. Conversations are not stored at Coze.',
        zh: '非流式的响应由网关从流组成。对话不保存在 Coze。',
      },
      {
        en: 'Bots of mainland China need `https://api.coze.cn` as the channel’s base URL.',
        zh: '中国大陆的 bot 需要把渠道的接口地址设为 `https://api.coze.cn`。',
      },
    ],
  },
})
