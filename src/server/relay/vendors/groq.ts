import type { ProviderCall } from '../protocols/dialect/provider.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import type { MemberEdit } from '../json/body-splice.ts'
import { THOUGHTS, messageEdits, withoutMembers } from '../protocols/openai-chat/message-edits.ts'
import { openaiVendor } from './openai-vendor.ts'
import { names } from './vendor.ts'

/**
 * Removes reasoning of earlier turns unless its name is Groq's own, `reasoning`: "property
 * 'reasoning_content' is unsupported" (janhq/jan#8136, agentjido/req_llm#772).
 */
function edits(body: ScannedBody, { task }: ProviderCall): MemberEdit[] {
  return task === 'chat' ? messageEdits(body, withoutMembers(body, THOUGHTS)) : []
}

export const groq = openaiVendor({
  type: 29,
  label: 'Groq',
  color: 'orange',
  baseUrl: 'https://api.groq.com/openai',
  modelVendor: 'groq',
  listPosition: 250,
  responses: true,
  // Source: Groq's documentation, "OpenAI compatibility", "Currently unsupported OpenAI features".
  call: { lacks: ['logitBias'], edits, refusesReasoning: true },
  models: names(`
    llama-3.3-70b-versatile llama-3.1-8b-instant whisper-large-v3 whisper-large-v3-turbo
    openai/gpt-oss-120b openai/gpt-oss-20b meta-llama/llama-4-scout-17b-16e-instruct
    meta-llama/llama-prompt-guard-2-22m meta-llama/llama-prompt-guard-2-86m
    openai/gpt-oss-safeguard-20b qwen/qwen3-32b qwen/qwen3.6-27b minimaxai/minimax-m2.7
    canopylabs/orpheus-arabic-saudi canopylabs/orpheus-v1-english groq/compound groq/compound-mini
    llama3-70b-8192 llama3-8b-8192 deepseek-r1-distill-llama-70b
  `),
  owner: 'groq',
  ownerRank: 100,
  priceLists: { rank: 160, modelsDev: ['groq'], liteLlm: 'groq' },
})
