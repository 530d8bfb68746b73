import { field, keyOf } from '../../../../contract/channel-type-row.ts'
import { statedStatus } from '../../protocols/dialect/error-body.ts'
import { NO, names, nativeVendor } from '../vendor.ts'
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
      images: NO,
      tools: {
        en: 'one call per turn; a forced tool call is requested by a sentence in the prompt',
        zh: '每轮一次调用；必须调用工具的要求写在提示里',
      },
      json: NO,
      reasoning: {
        en: 'cannot be switched; reasoning in the response is returned',
        zh: '不能开关；返回响应里的思考',
      },
      usage: { en: 'in the last frame', zh: '在最后一帧里' },
    },
    notes: [
      {
        en: 'Each call opens a WebSocket to `wss://spark-api.xf-yun.com` or the channel’s base URL. It follows the rules for outgoing connections, uses the channel’s proxy and has the same timeouts as all calls.',
        zh: '每次调用打开一个到 `wss://spark-api.xf-yun.com` 或渠道接口地址的 WebSocket。它遵守出站连接的规则，使用渠道的代理，超时与其他调用相同。',
      },
      {
        en: 'The version in the channel’s form selects the model. If it is empty, the model name does: a name of iFlytek’s list, or the text after the first dash (`SparkDesk-v3.5`). `x1.5` and `x2`, or `Spark-X1.5` and `Spark-X2`, are the reasoning models.',
        zh: '渠道表单里的版本决定模型。没有填写时由模型名决定：讯飞列表里的名称，或第一个短横线之后的部分（`SparkDesk-v3.5`）。`x1.5` 和 `x2`，即 `Spark-X1.5` 和 `Spark-X2`，是思考模型。',
      },
      {
        en: 'The protocol has no member for tool results: calls and results are sent as text of the conversation. Models before Max have no system prompt: it is prepended to the first question.',
        zh: '协议没有工具结果的字段：调用和结果作为对话的文字发送。Max 之前的模型没有系统提示词：它放在第一个问题之前。',
      },
      { en: '`temperature` is limited to 0.01–1.', zh: '`temperature` 限制在 0.01–1。' },
    ],
  },
})
