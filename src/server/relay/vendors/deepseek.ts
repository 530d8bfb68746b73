import { byObject } from '../protocols/openai-chat/thinking/switches.ts'
import { z } from 'zod'
import { baseUrlOf, beside } from '../../channel/upstream/channel-upstream.ts'
import type { ProviderCall } from '../protocols/dialect/provider.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { type MemberEdit, renamed } from '../json/body-splice.ts'
import { messageEdits, systemRole } from '../protocols/openai-chat/message-edits.ts'
import { Amount, type ReadBalance, bearer, otherCurrency, parseBalance } from './shared/balance.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

/** DeepSeek ignores a completion limit unless it is named `max_tokens` (earendil-works/pi#8018). */
function edits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  if (task !== 'chat') return []
  return [
    ...renamed(body, 'max_completion_tokens', 'max_tokens'),
    // DeepSeek rejects the role `developer` (earendil-works/pi#1048).
    ...messageEdits(body, systemRole(body)),
  ]
}

const readBalance: ReadBalance = async ({ channel, ask }) => {
  const url = beside(baseUrlOf(channel), '/user/balance')
  const Info = z.object({ currency: z.string().max(8), total_balance: Amount })
  const Answer = z.object({ balance_infos: z.array(Info).min(1) })
  const { balance_infos: infos } = parseBalance(
    Answer,
    await ask({ url, headers: bearer(channel) }),
  )
  const yuan = infos.find(({ currency }) => currency === 'CNY')
  if (yuan === undefined) throw otherCurrency(infos[0]?.currency ?? '')
  return yuan.total_balance
}

export const deepseek = openaiVendor({
  type: 36,
  label: 'DeepSeek',
  color: 'black',
  baseUrl: 'https://api.deepseek.com',
  paths: { '/v1/completions': '/beta/completions', '/v1/messages': '/anthropic/v1/messages' },
  // The path `/beta`, for text completion, has the same parent.
  partAddress: /^(https?:\/\/api\.deepseek\.com)\/v1$/i,
  modelVendor: 'deepseek',
  listPosition: 310,
  // Source: DeepSeek's API documentation, "Using the Responses API", and "Models & Pricing".
  responses: new Set(['deepseek-flash', 'deepseek-v4-flash', 'deepseek-v4-pro']),
  call: { edits },
  traits: {
    // Source: DeepSeek's API documentation, "Thinking mode".
    reasoningSwitch: byObject,
    // "Thinking mode does not support this tool_choice" (deepseek-ai/DeepSeek-V3#1376,
    // BerriAI/litellm#37470).
    forcesToolsWithoutReasoning: true,
  },
  balance: { unit: 'cny', read: readBalance },
  models: names(`
    deepseek-flash deepseek-v4-flash deepseek-v4-flash-vision-exp deepseek-v4-pro
  `),
  owner: 'deepseek',
  ownerRank: 4,
  priceLists: { rank: 50, modelsDev: ['deepseek'], liteLlm: 'deepseek' },
  formerModels: names('deepseek-chat deepseek-reasoner deepseek-coder'),
})
