import { field } from '../../../../contract/channel-type-row.ts'
import { statedStatus } from '../../protocols/dialect/error-body.ts'
import { namedEvents } from '../shared/named-events.ts'
import { openaiHeaders } from '../openai-vendor.ts'
import { nativeVendor } from '../vendor.ts'
import { cozeEdits, cozeUrl } from './address.ts'
import { readCozeAnswer, readCozeEvent } from './read-answer.ts'
import { COZE_LACKS, writeCozeRequest } from './write-request.ts'

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
    // Every answer is a stream.
    headers: (channel) => ({ ...openaiHeaders(channel), accept: namedEvents.accept }),
    asksForUsage: () => false,
    wire: namedEvents,
    edits: cozeEdits,
  },
  models: [],
  docs: {
    source: 'Coze, developer guide: Chat (v3), Streaming response, Error codes',
    chat: {
      pictures: 'by address, also sound and files; bytes are refused',
      tools: 'no: a bot has its own',
      json: 'no',
      thinking: 'reasoning in the response is returned',
      usage: 'at the end; counted here when it does not come',
    },
    notes: [
      'A model is a bot’s id, or `bot-` and its id. Instructions come as the user’s first message.',
      'Limits, figures for sampling and stop texts are the bot’s own; a client’s are left behind.',
      'Whole answers are put together from a stream, and conversations are not kept at Coze.',
      'Bots of mainland China live at `https://api.coze.cn`: the channel’s address.',
    ],
  },
})
