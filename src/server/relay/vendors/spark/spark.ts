import { field, keyOf } from '../../../../contract/channel-type-row.ts'
import { statedStatus } from '../../protocols/dialect/error-body.ts'
import { names, nativeVendor } from '../vendor.ts'
import { sparkSeal, sparkUrl } from './address.ts'
import { sparkVia } from './frames-call.ts'
import { readSparkAnswer, sparkStream } from './read-answer.ts'
import { SPARK_LACKS, sparkEdits, writeSparkRequest } from './write-request.ts'

export const spark = nativeVendor({
  type: 18,
  label: { zh: '讯飞星火认知', en: 'iFlytek Spark' },
  color: 'blue',
  protocol: 'xunfei',
  key: keyOf('|', 'APPID', 'APISecret', 'APIKey'),
  fields: [
    field(
      'api_version',
      { zh: '模型版本', en: 'Model version' },
      { alsoOther: true, placeholder: 'v2.1' },
    ),
  ],
  notice: {
    zh: '使用 WebSocket 接口；控制台给出 APIPassword 的，请选「讯飞星火认知 V2」',
    en: 'Speaks the WebSocket protocol; with an APIPassword choose iFlytek Spark V2',
  },
  listPosition: 170,
  provider: {
    dialect: {
      name: 'spark',
      writeRequest: writeSparkRequest,
      lacks: SPARK_LACKS,
      readAnswer: readSparkAnswer,
      readStream: sparkStream,
      statusOf: statedStatus,
    },
    url: sparkUrl,
    headers: () => ({}),
    asksForUsage: () => false,
    edits: sparkEdits,
    seal: sparkSeal,
    via: () => sparkVia,
  },
  models: names(`
    Spark-Lite Spark-Pro Spark-Pro-128K Spark-Max Spark-Max-32K Spark-4.0-Ultra
  `),
  owner: 'xunfei',
  ownerRank: 19,
  docs: {
    source:
      'iFlytek Open Platform, Spark: Web API, Deep reasoning by WebSocket, General URL authentication; ' +
      'RFC 6455',
    chat: {
      pictures: 'no',
      tools: 'one call a turn; that one must be called is asked for in words',
      json: 'no',
      thinking: 'cannot be switched; reasoning in the response is returned',
      usage: 'in the last frame',
    },
    notes: [
      'Spoken with over a WebSocket for each call, at `wss://spark-api.xf-yun.com` or the ' +
        'channel’s own address: by the rules for outgoing calls, through the channel’s proxy, ' +
        'with the same deadlines as all calls.',
      'The version in the channel’s form decides which model answers. Without one the model’s ' +
        'name does: those of iFlytek’s list, else what follows the first dash (`SparkDesk-v3.5`). ' +
        '`x1.5` and `x2`, or `Spark-X1.5` and `Spark-X2`, are the models that think.',
      'The protocol has no member for tool results: calls and results are sent as text of the ' +
        'conversation. Models before Max have no system prompt: it begins the first question.',
      '`temperature` is held between 0.01 and 1.',
    ],
  },
})
