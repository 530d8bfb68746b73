import type { UsedExtras } from '../../../../ledger/price/price-lines.ts'
import { checkedFigures } from '../../canonical/token-usage.ts'
import { arrayOr, isRecord, recordOr, wordOf, type JsonRecord } from '../../../json/json-value.ts'
import { readUsage } from '../../openai-chat/usage.ts'

/**
 * Usage of a response's tools, beside its own usage. Source: OpenAI's SDK, `Response.ToolUsage`.
 */
const toldOf = ({ tool_usage: told }: JsonRecord, tool: string): JsonRecord =>
  recordOr(recordOr(told)[tool])

const DRAWING = 'image_generation'

/** Tokens of the image model, if the response reports both the usage and the model. */
export function generatedImageTokens(
  response: JsonRecord,
  tokensMax: number,
): Pick<UsedExtras, 'toolTokens'> {
  const told = toldOf(response, 'image_gen')
  const { usage } = readUsage(told, tokensMax)
  const tools = arrayOr(response.tools).map(recordOr)
  const model = wordOf(tools.find(({ type }) => type === DRAWING)?.model)
  if (usage === null || model === '') return {}
  const { promptTokens, cachedTokens, completionTokens, extras = {} } = usage
  // Without details all output tokens are image tokens.
  const isDetailed = isRecord(told.output_tokens_details)
  const used = {
    promptTokens,
    cachedTokens,
    completionTokens,
    extras: {
      imagePromptTokens: (extras.imagePromptTokens ?? 0) - cachedImages(told, extras),
      imageCompletionTokens: isDetailed ? (extras.imageCompletionTokens ?? 0) : completionTokens,
    },
  }
  return { toolTokens: { tool: DRAWING, model, used } }
}

/** Image tokens of the prompt that were read from the cache, if the figure is plausible. */
function cachedImages(told: JsonRecord, { imagePromptTokens = 0 }: UsedExtras): number {
  const { cached_image_tokens: sent } = recordOr(told.cached_tokens_details)
  const figures = checkedFigures({ cached: sent }, () => imagePromptTokens)
  return typeof figures === 'string' ? 0 : (figures.cached ?? 0)
}

/** Implausibly high count of a tool's uses in one response. */
const COUNT_MAX = 10_000

/**
 * Uses the billed number of searches if it is reported: one item may stand for several searches.
 */
export function withBilledSearches(
  counts: Record<string, number>,
  response: JsonRecord,
  name: string,
): Record<string, number> {
  const sent = { billed: toldOf(response, 'web_search').num_requests }
  const figures = checkedFigures(sent, () => COUNT_MAX)
  const billed = typeof figures === 'string' ? 0 : (figures.billed ?? 0)
  if (billed === 0) return counts
  const { web_search: _one, web_search_preview: _other, ...others } = counts
  return { ...others, [name]: billed }
}

/**
 * xAI's counts of tool usage → price name. Source: xAI's documentation, "Tool usage details" and
 * "Pricing": a search of X is charged by the posts and the profiles that it fetched.
 */
const TOLD_COUNTS: ReadonlyMap<string, string> = new Map([
  ['web_search_calls', 'web_search'],
  ['code_interpreter_calls', 'code_interpreter'],
  ['file_search_calls', 'file_search'],
  ['document_search_calls', 'attachment_search'],
  ['x_posts_fetched', 'x_posts'],
  ['x_users_fetched', 'x_users'],
])

/** Tools as xAI bills them, if reported: its items include free calls, and exclude posts. */
export function withToldCounts(
  counts: Record<string, number>,
  { usage }: JsonRecord,
): Record<string, number> {
  const told = recordOr(recordOr(usage).server_side_tool_usage_details)
  const billed = { ...counts }
  for (const [member, name] of TOLD_COUNTS) {
    const figures = checkedFigures({ count: told[member] }, () => COUNT_MAX)
    if (typeof figures !== 'string' && figures.count !== null) billed[name] = figures.count
  }
  return Object.fromEntries(Object.entries(billed).filter(([, count]) => count > 0))
}
