/**
 * Models that take the beginning of their answer: where a conversation ends with the assistant they
 * go on with its words, and some clients mean just that. Later ones refuse it: "This model does not
 * support assistant message prefill", "Requests ending with a model turn are not supported".
 * Sources: Anthropic's documentation, "What's new in Claude 4.6", "Prefill removal"; for Gemini,
 * what its models were seen to answer (pipecat-ai/pipecat#5821, LibreChat-AI/agents#323); Amazon
 * Nova user guide, "Require structured output".
 */
const TAKES_PREFILL: readonly RegExp[] = [
  // Up to 4.5.
  /claude-(?:[a-z]+-)?v?(?:[1-3](?!\d)|4(?!\d|[.-](?:[6-9]|\d\d)(?!\d)))/,
  /gemini-(?:2\.|3-|3\.1-)/,
  /nova-(?:micro|lite|pro|premier)/,
]

/** Of models that nobody here knows it is not expected. */
export const takesPrefill = (model: string): boolean =>
  TAKES_PREFILL.some((pattern) => pattern.test(model))
