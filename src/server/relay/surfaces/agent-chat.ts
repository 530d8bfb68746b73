import {
  type FieldProblem,
  type RequestFigures,
  type Surface,
  countMember,
  flagMember,
  invalid,
} from '../protocols/dialect/surface.ts'
import type { ChatAnswer } from '../protocols/canonical/chat-answer.ts'
import { ASKED_TOKENS_MAX } from '../protocols/canonical/token-usage.ts'
import { dialects } from '../conversion/dialects.ts'
import type { ClientDialect, StreamWriter } from '../protocols/dialect/dialect.ts'
import { memberObject, memberValue, type ScannedBody } from '../json/body-scan.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { isEmpty } from './figures.ts'
import { readResponsesRequest } from '../protocols/openai-responses/read-request.ts'
import { inputOf, PlainInputs } from '../protocols/canonical/custom-tools.ts'
import { ToolNames } from '../protocols/openai-responses/tools/tool-names.ts'

/**
 * Requests of Cursor's agent to a chat completions endpoint: a Responses API body for which it
 * expects a chat response. It treats each called tool as a function, also a custom tool that takes
 * plain text, which it expects as the function's arguments. Sources: observed requests and
 * responses (BerriAI/litellm#34029, icebear0828/codex-proxy#708, router-for-me/CLIProxyAPI#658).
 */
const AGENT_CHAT: Surface = {
  task: 'chat',
  dialect: 'openai',
  spokenIn: 'responses',
  count: 'responses',
  defaultModel: null,
  required: 'input',
  mayStream: true,
  figures: ({ body }) => agentFigures(body),
  client: (body) => agentClient(body),
}

/** Returns the surface for a Responses API body at a chat endpoint; null for any other body. */
export const agentChatFor = (body: ScannedBody): Surface | null =>
  isEmpty(body, 'input') ? null : AGENT_CHAT

/** The names of the output limit in both APIs. */
const LIMITS = ['max_output_tokens', 'max_completion_tokens', 'max_tokens'] as const

function agentFigures(body: ScannedBody): RequestFigures | FieldProblem {
  let limit = 0
  for (const field of LIMITS) {
    const count = countMember(body, field, { min: 0, max: ASKED_TOKENS_MAX, otherwise: 0 })
    if (count === null) return invalid(field)
    limit = Math.max(limit, count)
  }
  const isStream = flagMember(body, 'stream')
  if (isStream === null) return invalid('stream')
  const options = memberObject(body, 'stream_options')
  return {
    maxCompletionTokens: limit === 0 ? null : limit,
    isStream,
    wantsUsage: options !== null && memberValue(options, 'include_usage') === true,
  }
}

/** Returns the client dialect of one such call. */
export function agentClient(body: JsonRecord): ClientDialect {
  const names = new ToolNames(body)
  const client = dialects.openai
  return {
    ...client,
    readRequest: (sent, notes) => readResponsesRequest(responsesBody(sent), notes),
    writeAnswer: (answer, head) => client.writeAnswer(withInputs(answer, names), head),
    streamWriter: (head) => withPlainInputs(client.streamWriter(head), names),
  }
}

/** Returns the body without members of chat completions or of stored responses. */
function responsesBody(sent: JsonRecord): JsonRecord {
  const { messages: _none, store: _kept, ...body } = sent
  const { max_completion_tokens: newer, max_tokens: older, ...rest } = body
  return { ...rest, max_output_tokens: body.max_output_tokens ?? newer ?? older ?? null }
}

/** Whether a tool takes plain text. */
const isCustom = (names: ToolNames, name: string): boolean => names.toolOf(name)?.type === 'custom'

const withInputs = (answer: ChatAnswer, names: ToolNames): ChatAnswer => ({
  ...answer,
  choices: answer.choices.map((choice) => ({
    ...choice,
    parts: choice.parts.map((part) =>
      part.kind === 'toolCall' && isCustom(names, part.name)
        ? { ...part, argumentsJson: inputOf(part.argumentsJson) }
        : part,
    ),
  })),
})

function withPlainInputs(writer: StreamWriter, names: ToolNames): StreamWriter {
  const inputs = new PlainInputs((name) => isCustom(names, name))
  return {
    write: (event) => inputs.of(event).flatMap((plain) => writer.write(plain)),
    end: (usage) => writer.end(usage),
  }
}
