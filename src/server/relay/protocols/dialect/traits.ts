import type { Capabilities } from '../../../model/capabilities.ts'
import type { Thinking } from '../canonical/chat-request.ts'
import type { JsonRecord } from '../../json/json-value.ts'

/** Returns a vendor's own members that turn reasoning on or off. */
export type ReasoningSwitch = (
  thinking: Thinking,
  effort: string | null,
  model: Capabilities,
) => JsonRecord

/**
 * Differences between upstreams of one dialect that affect converters and splices. Vendors declare
 * them; without any, the upstream behaves like the dialect's original, or its differences are
 * unknown.
 */
export interface UpstreamTraits {
  /**
   * OpenAI's dialect: whether the models are OpenAI's own (`true`), or may be (`maybe`), because
   * the channel can lead to any server.
   */
  readonly servesOpenai?: true | 'maybe'
  /** The Responses API: accepts the members that Codex adds for the server of its own account. */
  readonly takesCodexNotes?: true
  /**
   * OpenAI's dialect: whether prompts are cached up to marks (`cache_control`) for this model.
   * Marks on assistant messages are dropped, since the next user message usually has one.
   */
  readonly cachesMarked?: (model: Capabilities) => boolean
  /** The upstream accepts cache marks on tools, too, not only in messages. */
  readonly cachesMarkedTools?: true
  /**
   * OpenAI's dialect: `tool_stream` requests streaming of tool arguments from models that support
   * it.
   */
  readonly streamsArguments?: true
  /**
   * OpenAI's dialect: the vendor's own member that turns reasoning on or off. It is sent only to
   * models with the option `toggle`, since others reject it. Used for converted requests: a request
   * in OpenAI's dialect passes with the members that its client has set. `effort`: OpenAI's effort,
   * null if not set.
   */
  readonly reasoningSwitch?: ReasoningSwitch
  /** OpenAI's dialect: members that are added to every request for this model. */
  readonly usualMembers?: (model: Capabilities) => JsonRecord
  /**
   * OpenAI's dialect: the upstream rejects a mandatory tool call while a model reasons, which is
   * the default for most models. With reasoning off it accepts the call.
   */
  readonly forcesToolsWithoutReasoning?: true
  /** OpenAI's dialect: writes the reasoning of an earlier turn as members of a message. */
  readonly reasoningMembers?: (reasoning: string) => JsonRecord
  /** OpenAI's dialect: Gemini's signatures are in `reasoning_details`, not in the tool calls. */
  readonly signsInReasoning?: true
  /** OpenAI's dialect: whether embedding requests accept `task_type`. */
  readonly takesEmbeddingPurpose?: true
  /**
   * OpenAI's dialect: the upstream generates several images only if requested by a separate number;
   * `sequential_image_generation` alone yields one image.
   */
  readonly drawsNoGroups?: true
  /** Anthropic's dialect: the models are Claude's, which reject signatures of other makers. */
  readonly servesClaude?: true
  /**
   * Anthropic's dialect: whether the upstream supports web search for this model. Claude on Amazon
   * Bedrock does not. Source: Anthropic's documentation, "Web search tool".
   */
  readonly searchesWeb?: (model: string) => boolean
  /**
   * Gemini's dialect on Vertex AI: has `excludeDomains`, lacks `includeServerSideToolInvocations`.
   */
  readonly isVertexAi?: true
}
