import {
  type ChatEvent,
  finishNamed,
  type FinishReason,
  textEvent,
} from '../../protocols/canonical/chat-answer.ts'
import { objectText } from '../../protocols/canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../../protocols/canonical/tool-calls.ts'
import {
  checkedFigures,
  NO_FIGURES,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../../protocols/canonical/token-usage.ts'
import type { AnswerReading, EventReport, StreamReader } from '../../protocols/dialect/dialect.ts'
import { readWhole } from '../../protocols/dialect/read-whole.ts'
import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Reads Converse's responses, whole or streamed. Source: Amazon Bedrock API reference, "Converse"
 * and "ConverseStream"; each event of a stream is in a member with the event's name.
 */
export const readConverseAnswer = (bytes: Buffer): AnswerReading =>
  readWhole(bytes, new ConverseStreamReader(), eventsOf)

/**
 * Splits a whole response into events. Titan's embeddings report their tokens in the body; Cohere's
 * on Bedrock report them only in a header.
 */
function eventsOf(answer: JsonRecord): JsonRecord[] {
  const { output, stopReason, inputTextTokenCount: counted, message } = answer
  if (output === undefined && typeof message === 'string') return [{ error: answer }]
  const { content } = recordOr(recordOr(output).message)
  const usage = counted === undefined ? answer.usage : { inputTokens: counted, outputTokens: 0 }
  return [
    { messageStart: {} },
    ...arrayOr(content).flatMap((block, index) => blockEvents(recordOr(block), index)),
    { messageStop: { stopReason } },
    { metadata: { usage } },
  ]
}

function blockEvents(
  { text, reasoningContent, toolUse }: JsonRecord,
  contentBlockIndex: number,
): JsonRecord[] {
  const place = { contentBlockIndex }
  if (isRecord(toolUse)) {
    const delta = { toolUse: { input: objectText(toolUse.input) } }
    return [
      { contentBlockStart: { ...place, start: { toolUse } } },
      { contentBlockDelta: { ...place, delta } },
      { contentBlockStop: place },
    ]
  }
  const delta = { text, reasoningContent: recordOr(reasoningContent).reasoningText }
  return [{ contentBlockDelta: { ...place, delta } }]
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'toolCalls',
  guardrail_intervened: 'filtered',
  content_filtered: 'filtered',
}

/**
 * Stop reasons of failed responses. Source: Amazon Bedrock API reference, "Converse", `stopReason`.
 */
const FAILURES: ReadonlySet<unknown> = new Set(['malformed_model_output', 'malformed_tool_use'])

/**
 * Whether the client must return a result for a `toolUse`; the result of a system tool is in the
 * response. Source: Amazon Bedrock API reference, "ToolUseBlock", `type`.
 */
const isClientsCall = (toolUse: unknown): toolUse is JsonRecord =>
  isRecord(toolUse) && toolUse.type !== 'server_tool_use'

/** Converse reports cache reads and writes separately from the input tokens. */
function readConverseUsage(value: unknown): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const hour = arrayOr(value.cacheDetails)
    .map(recordOr)
    .find(({ ttl }) => ttl === '1h')
  const figures = checkedFigures(
    {
      input: value.inputTokens,
      output: value.outputTokens,
      read: value.cacheReadInputTokens,
      written: value.cacheWriteInputTokens,
      hour: hour?.inputTokens,
    },
    () => USAGE_TOKENS_MAX,
  )
  if (typeof figures === 'string') return usageRefused(figures)
  const { input, output } = figures
  if (input === null || output === null) return usageRefused('shape')
  const written = figures.written ?? 0
  const hourTokens = figures.hour ?? 0
  if (hourTokens > written) return usageRefused('inconsistent')
  return usageOfParts(
    {
      ...NO_FIGURES,
      freshTokens: input,
      cachedTokens: figures.read ?? 0,
      cacheWriteTokens: written - hourTokens,
      cacheWriteHourTokens: hourTokens,
      answerTokens: output,
    },
    USAGE_TOKENS_MAX,
  )
}

/**
 * Reads a stream event by event; usage comes last. Pieces of a tool call refer to the index of
 * their block.
 */
export class ConverseStreamReader implements StreamReader {
  private readonly calls = new CallAssembly()
  private readonly blocks = new Map<unknown, AssembledCall>()

  read(event: JsonRecord): EventReport {
    const { messageStart, contentBlockStart, contentBlockDelta, contentBlockStop } = event
    if (event.error !== undefined) return { error: event.error }
    if (isRecord(contentBlockDelta)) return { events: this.readDelta(contentBlockDelta) }
    if (isRecord(messageStart)) return { id: '' }
    if (isRecord(contentBlockStart)) return { events: this.startBlock(contentBlockStart) }
    if (isRecord(contentBlockStop)) {
      const call = this.blocks.get(contentBlockStop.contentBlockIndex)
      return call === undefined ? {} : { events: this.calls.end(call) }
    }
    if (isRecord(event.metadata)) {
      return { kind: 'usage', usage: readConverseUsage(event.metadata.usage), isEnd: true }
    }
    if (!isRecord(event.messageStop)) return {}
    const { stopReason } = event.messageStop
    if (FAILURES.has(stopReason)) {
      return { error: { type: stopReason, message: `The model stopped: ${String(stopReason)}` } }
    }
    const finish = finishNamed(FINISHES, stopReason)
    return { events: [...this.calls.open(0), { kind: 'finish', choice: 0, finish }] }
  }

  end(): ChatEvent[] {
    return this.calls.endAll()
  }

  private startBlock({ start, contentBlockIndex: index }: JsonRecord): ChatEvent[] {
    const { toolUse } = recordOr(start)
    const opened = this.calls.open(0)
    this.blocks.delete(index)
    if (!isClientsCall(toolUse)) {
      return [...opened, ...textEvent('hostedTool', recordOr(toolUse).name)]
    }
    const { toolUseId: id, name } = toolUse
    const call = this.calls.begin(0)
    this.blocks.set(index, call)
    return [...opened, ...this.calls.add(call, { id: textOr(id), name: textOr(name) })]
  }

  private readDelta({ delta: sent, contentBlockIndex: index }: JsonRecord): ChatEvent[] {
    const delta = recordOr(sent)
    const call = this.blocks.get(index)
    const args = textOr(recordOr(delta.toolUse).input)
    if (args !== '') {
      return call === undefined ? textEvent('hostedTool', args) : this.calls.add(call, { args })
    }
    const said = [
      ...textEvent('thinking', recordOr(delta.reasoningContent).text),
      ...textEvent('text', delta.text),
    ]
    return said.length === 0 ? [] : [...this.calls.open(0), ...said]
  }
}
