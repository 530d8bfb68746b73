import type { ProviderCall } from '../../../protocols/dialect/provider.ts'
import { hasFeature } from '../../../../model/capabilities.ts'
import { capabilitiesOf, type AskedModel } from '../../../../model/model-table.ts'

/**
 * Anthropic's betas that Claude accepts at Amazon and at Google. Both reject a request that names
 * an unknown beta ("invalid beta flag", "Unexpected value(s) … for the `anthropic-beta` header"),
 * and clients name every beta of Anthropic's own API for any upstream. So the gateway filters
 * them, as Claude Code's documentation, "LLM gateway protocol reference", requires: "Bridging that
 * difference is your gateway's job".
 *
 * Sources for both lists: Anthropic's documentation of each feature, "supported platforms";
 * LiteLLM's `anthropic_beta_headers_config.json`. For Amazon also: Amazon Bedrock user guide,
 * "Anthropic Claude Messages API", and the experiments in envoyproxy/ai-gateway#2512.
 */
export const AMAZONS_BETAS: ReadonlySet<string> = new Set([
  'compact-2026-01-12',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-system-clear-at-2026-08-21',
  'mid-conversation-tool-changes-2026-07-01',
  'output-128k-2025-02-19',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
])

/** Google needs no beta for an effort and rejects that beta (anthropics/claude-code#34802). */
export const GOOGLES_BETAS: ReadonlySet<string> = new Set([
  'compact-2026-01-12',
  'compact-2026-09-04',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'interleaved-thinking-2025-05-14',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-system-clear-at-2026-08-21',
  'mid-conversation-tool-changes-2026-07-01',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'tool-search-tool-2025-10-19',
  'web-search-2025-03-05',
])

/**
 * Betas that Amazon and Google know by other names. Source: Anthropic's documentation, "Tool search
 * tool" and "Mid-conversation system messages and tool changes".
 */
const OTHER_NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['advanced-tool-use-2025-11-20', ['tool-search-tool-2025-10-19', 'tool-examples-2025-10-29']],
  ['inline-tools-2026-09-15', ['mid-conversation-tool-changes-2026-07-01']],
])

/**
 * Member of the body that uses each beta. Older models in these clouds reject some betas even if
 * they are known, so a beta without its member is dropped.
 */
const SIGNS: ReadonlyMap<string, readonly string[]> = new Map([
  ['compact-2026-01-12', ['"compact_20260112"']],
  ['context-management-2025-06-27', ['"context_management"']],
  ['effort-2025-11-24', ['"effort"']],
  ['interleaved-thinking-2025-05-14', ['"budget_tokens"']],
  ['mid-conversation-system-clear-at-2026-08-21', ['"clear_at"']],
  ['mid-conversation-tool-changes-2026-07-01', ['"tool_addition"', '"tool_removal"']],
  ['thinking-binding-controls-2026-08-01', ['"block_binding"']],
  ['tool-examples-2025-10-29', ['"input_examples"']],
  ['tool-search-tool-2025-10-19', ['"defer_loading"']],
])

/**
 * Whether a model has the feature. Models that reason by a budget need the beta, others reject it:
 * "On partner-operated platforms, if you pass `interleaved-thinking-2025-05-14` to any model aside
 * from …, your request will fail". Models since 4.8 accept system messages within a conversation.
 * Sources: Anthropic's documentation, "Extended thinking" and "Mid-conversation system messages and
 * tool changes".
 */
function isHadBy(to: AskedModel, beta: string): boolean {
  const model = capabilitiesOf(to)
  if (beta === 'interleaved-thinking-2025-05-14') {
    return hasFeature(model, 'interleaved_thinking_beta')
  }
  return !beta.startsWith('mid-conversation-') || hasFeature(model, 'mid_conversation')
}

/** Returns the client's betas that the cloud supports and that the request uses. */
export function betasFor(
  known: ReadonlySet<string>,
  to: Pick<ProviderCall, 'clientHeaders' | 'model' | 'type' | 'capabilities'>,
  body: Buffer,
): string[] {
  const header = to.clientHeaders['anthropic-beta']
  const named = typeof header === 'string' ? header.split(',').map((beta) => beta.trim()) : []
  const there = new Set(named.flatMap((beta) => OTHER_NAMES.get(beta) ?? [beta]))
  return [...there].filter((beta) => known.has(beta) && isHadBy(to, beta) && isUsed(beta, body))
}

const isUsed = (beta: string, body: Buffer): boolean =>
  SIGNS.get(beta)?.some((sign) => body.includes(sign)) ?? true
