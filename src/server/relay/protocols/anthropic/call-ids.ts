/** Ids that Anthropic accepts: "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'". */
const PLAIN = /^[a-zA-Z0-9_-]*$/
const WRAPPED = 'toolu_gatehouse_'

/**
 * Id of a tool call for a client of Anthropic's dialect. The client may continue the conversation
 * with Anthropic itself, which refuses ids like Kimi's `functions.read:0`. Kimi needs its own ids
 * back: it writes its calls as it sees them in the conversation, and does not recognize calls with
 * other ids. Source: Moonshot AI, "Kimi K2", `tool_call_guidance.md`.
 */
export const clientCallId = (id: string): string =>
  PLAIN.test(id) ? id : WRAPPED + Buffer.from(id).toString('base64url')

/** Returns the original id for one that a client sends back. */
export const ownCallId = (id: string): string =>
  id.startsWith(WRAPPED) ? Buffer.from(id.slice(WRAPPED.length), 'base64url').toString('utf8') : id
