import { byObjectAlone } from '../protocols/openai-chat/thinking/switches.ts'
import { z } from 'zod'
import { belowVersion } from '../../channel/upstream/channel-upstream.ts'
import { roleEdits } from '../protocols/openai-chat/message-edits.ts'
import {
  Amount,
  type ReadBalance,
  bearer,
  parseBalance,
  rejectDollarHost,
} from './shared/balance.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

/**
 * Moonshot's balance, in USD at moonshot.ai and in CNY at moonshot.cn. Source: Kimi's API
 * reference, "Get balance".
 */
const readBalance: ReadBalance = async ({ channel, ask }) => {
  rejectDollarHost(channel, 'moonshot.ai')
  const url = belowVersion(channel, '/v1/users/me/balance')
  const Answer = z.object({ code: z.literal(0), data: z.object({ available_balance: Amount }) })
  return parseBalance(Answer, await ask({ url, headers: bearer(channel) })).data.available_balance
}

export const moonshot = openaiVendor({
  type: 25,
  label: 'Moonshot AI',
  color: 'black',
  baseUrl: 'https://api.moonshot.cn',
  paths: { '/v1/messages': '/anthropic/v1/messages' },
  modelVendor: 'moonshotai-cn',
  listPosition: 210,
  // Moonshot rejects the role `developer` (openclaw/openclaw#22194).
  call: { edits: roleEdits },
  traits: {
    // Sources: the Kimi API platform, "Create chat completion", `thinking`; "cannot specify both
    // 'thinking' and 'reasoning_effort'" (HKUDS/nanobot#3939).
    reasoningSwitch: byObjectAlone,
    // "tool_choice specified is incompatible with thinking enabled" (can1357/oh-my-pi#1077).
    forcesToolsWithoutReasoning: true,
  },
  refusals: {
    hosts: /(?:^|\.)moonshot\.(?:cn|ai)$/,
    // Moonshot reports a suspended account with status 429. Source: Kimi's forum, "API Billing
    // behaviour".
    meaning: ({ type }) => (type === 'exceeded_current_quota_error' ? { status: 402 } : undefined),
  },
  balance: { unit: 'cny', read: readBalance },
  models: names(`
    kimi-k3.1-pro kimi-k3.1-pro-highspeed kimi-k3 kimi-k2.7-code kimi-k2.7-code-highspeed kimi-k2.6
    kimi-k2.5 moonshot-v1-8k moonshot-v1-32k moonshot-v1-128k moonshot-v1-8k-vision-preview
    moonshot-v1-32k-vision-preview moonshot-v1-128k-vision-preview
  `),
  owner: 'moonshot',
  ownerRank: 6,
  priceLists: { rank: 70, modelsDev: ['moonshotai'], liteLlm: 'moonshot' },
})
