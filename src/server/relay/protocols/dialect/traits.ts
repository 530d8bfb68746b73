import type { Capabilities } from '../../../model/capabilities.ts'
import type { Thinking } from '../canonical/chat-request.ts'
import type { JsonRecord } from '../../json/json-value.ts'

/** The members that tell a model whether to reason, in a vendor's own words. */
export type ReasoningSwitch = (
  thinking: Thinking,
  effort: string | null,
  model: Capabilities,
) => JsonRecord

/**
 * Differences between upstreams of one dialect that converters and splices must know. Vendors
 * declare them; all absent: the upstream is as the dialect's maker has it, or not known to differ.
 */
export interface UpstreamTraits {
  /**
   * OpenAI's dialect: whether the models are OpenAI's own (`true`), or may be (`maybe`), because
   * the channel can lead to any server.
   */
  readonly servesOpenai?: true | 'maybe'
  /** The Responses API: takes the members that Codex adds for the server of its own account. */
  readonly takesCodexNotes?: true
  /**
   * OpenAI's dialect: whether prompts are cached up to marks (`cache_control`) for this model. A
   * mark on what the model wrote is left out: the next one is not far.
   */
  readonly cachesMarked?: (model: Capabilities) => boolean
  /** Marks are taken on tools, too, not only in messages. */
  readonly cachesMarkedTools?: true
  /**
   * OpenAI's dialect: `tool_stream` asks models with that feature to stream arguments of tool
   * calls.
   */
  readonly streamsArguments?: true
  /**
   * OpenAI's dialect: the member that turns reasoning on or off, where the vendor has its own. It
   * is sent only to models with the option `toggle`, as others refuse it. `effort`: OpenAI's word
   * for how much, null if nothing is said.
   */
  readonly reasoningSwitch?: ReasoningSwitch
  /** OpenAI's dialect: members that every request to this model has. */
  readonly usualMembers?: (model: Capabilities) => JsonRecord
  /**
   * OpenAI's dialect: a model cannot be forced to call a tool while it reasons, which most do
   * unless told otherwise. It can if it does not reason.
   */
  readonly forcesToolsWithoutReasoning?: true
  /** OpenAI's dialect: members of a message that hold the reasoning of an earlier turn. */
  readonly reasoningMembers?: (reasoning: string) => JsonRecord
  /** OpenAI's dialect: Gemini's signatures stand in `reasoning_details`, not in the tool calls. */
  readonly signsInReasoning?: true
  /** OpenAI's dialect: whether embedding takes `task_type`. */
  readonly takesEmbeddingPurpose?: true
  /**
   * OpenAI's dialect: `sequential_image_generation` alone asks for one image. The number of a group
   * is a member of its own, which is counted like others.
   */
  readonly drawsNoGroups?: true
  /** Anthropic's dialect: the models are Claude's, which refuse signatures of other makers. */
  readonly servesClaude?: true
  /**
   * Anthropic's dialect: whether the upstream searches the web for this model. Amazon's Claude does
   * not. Source: Anthropic's documentation, "Web search tool".
   */
  readonly searchesWeb?: (model: string) => boolean
  /** Gemini's dialect as Vertex AI has it: `excludeDomains`, no `includeServerSideToolInvocations`. */
  readonly isVertexAi?: true
}
