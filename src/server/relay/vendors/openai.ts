import type { ProviderCall } from '../protocols/dialect/provider.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import { type MemberEdit, renamed } from '../json/body-splice.ts'
import { takesOtherLimit } from '../protocols/openai-chat/write-request.ts'
import { samplingEdits } from '../protocols/openai-chat/thinking/sampling.ts'
import { fromSubscription } from './shared/balance.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

/**
 * Reasoning models reject `max_tokens` and members for sampling. Source: OpenAI's API reference,
 * "Create chat completion", `max_completion_tokens`.
 */
export function thinkingEdits(body: ScannedBody, call: ProviderCall): MemberEdit[] {
  if (call.task !== 'chat') return []
  return [...renamed(body, 'max_tokens', 'max_completion_tokens'), ...samplingEdits(body, call)]
}

export const openai = openaiVendor({
  type: 1,
  label: 'OpenAI',
  color: 'green',
  baseUrl: 'https://api.openai.com',
  // Cloudflare's AI Gateway has OpenAI's paths without their version.
  wholeAddress: /^https?:\/\/gateway\.ai\.cloudflare\.com(?:[:/]|$)/i,
  modelVendor: 'openai',
  listPosition: 10,
  responses: true,
  call: (model, _task, capabilities) =>
    takesOtherLimit({ model, capabilities }) ? { edits: thinkingEdits } : null,
  traits: { servesOpenai: true, takesCodexNotes: true },
  // OpenAI has removed these endpoints. Gateways that still have them may return 0 for any balance.
  balance: { unit: 'usd', read: fromSubscription, neverDisables: true },
  models: names(`
    gpt-6-astra gpt-6-sol gpt-6-luna gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-2025-04-14 gpt-4.1-mini
    gpt-4.1-mini-2025-04-14 gpt-4.1-nano gpt-4.1-nano-2025-04-14 gpt-5.6 gpt-5.6-sol gpt-5.6-terra
    gpt-5.6-luna gpt-5.5 gpt-5.5-pro gpt-5.5-2026-04-23 gpt-5.4 gpt-5.4-2026-03-05 gpt-5.4-mini
    gpt-5.4-nano gpt-5.4-pro gpt-5.3-chat-latest gpt-5.3-codex gpt-5.2 gpt-5.2-2025-12-11
    gpt-5.2-codex gpt-5.2-pro gpt-5.2-pro-2025-12-11 gpt-5.1 gpt-5.1-2025-11-13 gpt-5.1-chat-latest
    gpt-5.1-codex gpt-5.1-codex-mini gpt-5.1-codex-max gpt-5-chat-latest gpt-5-codex gpt-5-pro
    gpt-5-pro-2025-10-06 gpt-5 gpt-5-2025-08-07 gpt-5-mini gpt-5-mini-2025-08-07 gpt-5-nano
    gpt-5-nano-2025-08-07 o3 o3-2025-04-16 o3-mini o3-mini-2025-01-31 o3-pro o3-pro-2025-06-10
    o3-deep-research o3-deep-research-2025-06-26 o4-mini o4-mini-2025-04-16 o4-mini-deep-research
    o4-mini-deep-research-2025-06-26 gpt-5-search-api omni-moderation-latest
    omni-moderation-2024-09-26 text-embedding-3-small text-embedding-3-large whisper-1 tts-1
    tts-1-1106 tts-1-hd tts-1-hd-1106 gpt-4o-transcribe gpt-4o-mini-transcribe gpt-4o-mini-tts
    gpt-4o-mini-tts-2025-12-15 gpt-image-1 gpt-image-1-mini gpt-image-1.5 gpt-image-1.5-2025-12-16
    gpt-image-2 gpt-image-2-2026-04-21 gpt-3.5-turbo gpt-3.5-turbo-0301 gpt-3.5-turbo-0613
    gpt-3.5-turbo-1106 gpt-3.5-turbo-0125 gpt-3.5-turbo-16k gpt-3.5-turbo-16k-0613
    gpt-3.5-turbo-instruct gpt-4 gpt-4-0314 gpt-4-0613 gpt-4-1106-preview gpt-4-0125-preview
    gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613 gpt-4-turbo-preview gpt-4-turbo gpt-4-turbo-2024-04-09
    gpt-4o-2024-05-13 gpt-4o-2024-08-06 gpt-4o-2024-11-20 chatgpt-4o-latest gpt-4o-mini-2024-07-18
    gpt-4-vision-preview text-embedding-ada-002 text-curie-001 text-babbage-001 text-ada-001
    text-davinci-002 text-davinci-003 text-moderation-latest text-moderation-stable davinci-002
    babbage-002 dall-e-2 dall-e-3 o1 o1-2024-12-17 o1-preview o1-preview-2024-09-12 o1-mini
    o1-mini-2024-09-12
  `),
  owner: 'openai',
  ownerRank: 1,
  priceLists: { rank: 10, modelsDev: ['openai'] },
})
