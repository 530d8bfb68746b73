/**
 * Models that want their own reasoning back with the conversation, wherever they are served: the
 * only place that names them. Source: models.dev, `interleaved`; what is demanded, and what is
 * taken for "no reasoning": see each row.
 */
interface ReasoningFamily {
  models: RegExp
  /**
   * What a turn without reasoning must have, once a tool was called, or the request is refused;
   * null: such a turn is taken.
   */
  least: string | null
}

const FAMILIES: readonly ReasoningFamily[] = [
  /**
   * "The `reasoning_content` in the thinking mode must be passed back to the API". Source:
   * DeepSeek's API documentation, "Thinking mode", "Tool calls". Empty where there was none
   * (earendil-works/pi#3636, openclaw/openclaw#73417).
   */
  { models: /deepseek-(?:v(?:3[.-]2|[4-9])|flash|reasoner|chat$)/i, least: '' },
  /**
   * "thinking is enabled but reasoning_content is missing in assistant tool call message". An empty
   * one counts as missing (earendil-works/pi#4251, anomalyco/opencode#10996).
   */
  { models: /kimi-(?:k2-thinking|k2[.p-][5-9]|k[3-9]|for-coding)/i, least: '.' },
  /** "Param Incorrect" (XiaomiMiMo/MiMo#44, QwenLM/qwen-code#4223). */
  { models: /mimo-/i, least: '.' },
  { models: /deepseek|kimi|glm|minimax/i, least: null },
]

/** What a model wants back of its reasoning; null: nothing. */
export const reasoningBackOf = (model: string): ReasoningFamily | null =>
  FAMILIES.find(({ models }) => models.test(model)) ?? null
