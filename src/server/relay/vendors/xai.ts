import type { Provider, ProviderCall, ProviderChannel } from '../protocols/dialect/provider.ts'
import { openaiVendor, openaiHeaders } from './openai-vendor.ts'
import { names } from './vendor.ts'

/** Sampling parameters that xAI's reasoning models reject. Source: xAI's guide "Reasoning". */
const reasoning: Partial<Provider> = { lacks: ['stop', 'presencePenalty', 'frequencyPenalty'] }

const CONVERSATION = 'x-grok-conv-id'

/**
 * Each of xAI's servers has its own prompt cache, and this header keeps a conversation on one
 * server. Claude Code names its session in every call. Sources: xAI's documentation, "Maximizing
 * cache hits"; Claude Code's, "LLM gateway protocol", "Request headers".
 */
function headers(
  channel: ProviderChannel,
  { task, clientHeaders }: ProviderCall,
): Record<string, string> {
  const own = openaiHeaders(channel)
  if (task !== 'chat') return own
  const name = clientHeaders[CONVERSATION] ?? clientHeaders['x-claude-code-session-id']
  return typeof name === 'string' && name !== '' ? { ...own, [CONVERSATION]: name } : own
}

const SPENT =
  /^Your (?:newly created )?teams? (?:[\w-]{1,64} )?(?:has either used all available credits|doesn't have any credits)/

export const xai = openaiVendor({
  type: 45,
  label: 'xAI',
  color: 'blue',
  baseUrl: 'https://api.x.ai',
  modelVendor: 'xai',
  listPosition: 380,
  responses: true,
  call: (_model, _task, capabilities) => ({
    headers,
    ...(capabilities.reasoning === true ? reasoning : {}),
  }),
  refusals: {
    hosts: /(?:^|\.)x\.ai$/,
    // xAI reports a wrong key with status 400; filtered content and exhausted credits with 403, and
    // exhausted credits also with 429. Source: docs.x.ai, "Debugging Errors", and xAI's error
    // messages.
    meaning({ message }) {
      if (message.startsWith('Incorrect API key provided')) return { status: 401 }
      if (message.startsWith('Content violates usage guidelines')) return { status: 400 }
      return SPENT.test(message) ? { status: 402 } : undefined
    },
  },
  models: names(`
    grok-4.7 grok-4.7-latest grok-4.6 grok-4.6-latest grok-4.5 grok-4.5-latest grok-4.3
    grok-4.20-0309-reasoning grok-4.20-0309-non-reasoning grok-4.20-multi-agent-0309 grok-4.20
    grok-4.20-reasoning grok-4.20-non-reasoning grok-4.20-multi-agent grok-4-0709
    grok-4-1-fast-reasoning grok-4-1-fast-non-reasoning grok-4-fast-reasoning
    grok-4-fast-non-reasoning grok-code-fast-1 grok-build-0.1 grok-3 grok-3-mini grok-imagine-image
    grok-imagine-image-2026-03-02 grok-imagine-image-quality grok-imagine-image-quality-20260403
    grok-imagine-image-quality-latest grok-imagine-image-2.0 grok-imagine-image-pro grok-2
    grok-vision-beta grok-2-vision-1212 grok-2-vision grok-beta
  `),
  owner: 'xai',
  ownerRank: 5,
  priceLists: { rank: 40, modelsDev: ['xai'], liteLlm: 'xai' },
})
