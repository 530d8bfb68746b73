import { keyOf } from '../../../../contract/channel-type-row.ts'
import { roleEdits } from '../../protocols/openai-chat/message-edits.ts'
import { openaiVendor } from '../openai-vendor.ts'
import { names } from '../vendor.ts'

export const sparkV2 = openaiVendor({
  type: 48,
  label: { zh: '讯飞星火认知 V2', en: 'iFlytek Spark V2' },
  color: 'blue',
  baseUrl: 'https://spark-api-open.xf-yun.com',
  key: keyOf('', 'APIPassword'),
  notice: {
    zh: '使用 HTTP 接口，密钥是控制台里的 APIPassword；X2 另有地址：https://spark-api-open.xf-yun.com/x2',
    en: 'Speaks HTTP with an APIPassword; X2 is at https://spark-api-open.xf-yun.com/x2',
  },
  // X2 is at `/x2`. X1.5 has a similar name but is at `/v2`.
  wholeAddress: /\/x\d$/i,
  // The reasoning models use a later version of the API.
  prefixForModels: { models: /^(?:x\d|spark-x)/i, pathPrefix: '/v2' },
  listPosition: 180,
  // Spark supports only the roles system, user, assistant and tool.
  call: { edits: roleEdits },
  models: names(`
    lite generalv3 pro-128k generalv3.5 max-32k 4.0Ultra spark-x
  `),
  owner: 'xunfeiv2',
  ownerRank: 20,
})
