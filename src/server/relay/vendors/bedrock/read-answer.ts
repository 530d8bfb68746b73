import {
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  finishNamed,
  type FinishReason,
  textEvent,
} from '../../canonical/chat-answer.ts'
import { objectText } from '../../canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../../canonical/call-assembly.ts'
import {
  checkedFigures,
  NO_FIGURES,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../../canonical/token-usage.ts'
import type { AnswerReading, DeltaText, StreamReader } from '../../dialect/dialect.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import type { EventReport } from '../../dialect/followed-stream.ts'
import { Lane, laneText, toolText } from '../../dialect/lane.ts'

/**
 * Converse's answers, whole or streamed. Source: Amazon Bedrock API reference, "Converse" and
 * "ConverseStream"; an event of a stream stands under its name.
 */
export function readConverseAnswer(answer: JsonRecord): ChatAnswer {
  const { content } = recordOr(recordOr(answer.output).message)
  return {
    id: '',
    choices: [
      {
        parts: arrayOr(content).flatMap((block) => readBlock(recordOr(block))),
        finish: finishNamed(FINISHES, answer.stopReason),
      },
    ],
    usage: readConverseUsage(answer.usage, USAGE_TOKENS_MAX).usage,
  }
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
 * Whether a `toolUse` is a call that the client has to answer, and not one of a system tool, whose
 * result is in the answer. Source: Amazon Bedrock API reference, "ToolUseBlock", `type`.
 */
const isClientsCall = (toolUse: unknown): toolUse is JsonRecord =>
  isRecord(toolUse) && toolUse.type !== 'server_tool_use'

function readBlock(block: JsonRecord): AnswerPart[] {
  if (typeof block.text === 'string') return [{ kind: 'text', text: block.text }]
  if (isRecord(block.reasoningContent)) {
    const { text } = recordOr(block.reasoningContent.reasoningText)
    return textOr(text) === ''
      ? []
      : [{ kind: 'thinking', text: textOr(text), signature: null, redacted: null }]
  }
  if (!isClientsCall(block.toolUse)) return []
  const { toolUseId, name, input } = block.toolUse
  return [
    {
      kind: 'toolCall',
      id: textOr(toolUseId),
      name: textOr(name),
      argumentsJson: objectText(input),
      signature: null,
    },
  ]
}

/** What was read from and written to the cache stands beside the input. */
function readConverseUsage(value: unknown, tokensMax: number): UsageReading {
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
    () => tokensMax,
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
    tokensMax,
  )
}

/** Embeddings of Titan count their text; Cohere's on Bedrock only in a header. */
export function lookAtConverse(bytes: Buffer, tokensMax: number): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  if (answer.output === undefined && typeof answer.message === 'string') {
    return { kind: 'error', error: answer }
  }
  const counted = answer.inputTextTokenCount
  const usage = counted === undefined ? answer.usage : { inputTokens: counted, outputTokens: 0 }
  return { kind: 'ok', usage: readConverseUsage(usage, tokensMax) }
}

export function textsOfConverse(answer: JsonRecord): DeltaText[] {
  const { content } = recordOr(recordOr(answer.output).message)
  return arrayOr(content).flatMap((sent) => {
    const block = recordOr(sent)
    const { name, input } = recordOr(block.toolUse)
    return [
      ...laneText(Lane.text, block.text),
      ...laneText(Lane.thinking, recordOr(recordOr(block.reasoningContent).reasoningText).text),
      ...toolText(Lane.call, name),
      ...(input === undefined ? [] : laneText(Lane.call, JSON.stringify(input))),
    ]
  })
}

/** What the relay needs to know of one event; the figures come last. */
export function inspectConverse(event: JsonRecord, tokensMax: number): EventReport {
  if (event.error !== undefined) return { error: event.error }
  if (isRecord(event.metadata)) {
    const usage = readConverseUsage(event.metadata.usage, tokensMax)
    return { kind: 'usage', usage, isEnd: true }
  }
  if (isRecord(event.messageStop)) return { isFinish: true }
  const delta = recordOr(recordOr(event.contentBlockDelta).delta)
  const begun = recordOr(recordOr(event.contentBlockStart).start)
  return {
    texts: [
      ...laneText(Lane.text, delta.text),
      ...laneText(Lane.thinking, recordOr(delta.reasoningContent).text),
      ...toolText(Lane.call, recordOr(begun.toolUse).name),
      ...laneText(Lane.call, recordOr(delta.toolUse).input),
    ],
  }
}

/** Event by event. Pieces of a call name their block by its index. */
export class ConverseStreamReader implements StreamReader {
  private readonly calls = new CallAssembly()
  private readonly blocks = new Map<unknown, AssembledCall>()

  read(event: JsonRecord): ChatEvent[] {
    if (isRecord(event.messageStart)) return [{ kind: 'start', id: '' }]
    if (isRecord(event.contentBlockStart)) return this.startBlock(event.contentBlockStart)
    if (isRecord(event.contentBlockDelta)) return this.readDelta(event.contentBlockDelta)
    if (isRecord(event.contentBlockStop)) {
      const call = this.blocks.get(event.contentBlockStop.contentBlockIndex)
      return call === undefined ? [] : this.calls.end(call)
    }
    if (!isRecord(event.messageStop)) return []
    const finish = finishNamed(FINISHES, event.messageStop.stopReason)
    return [...this.calls.open(0), { kind: 'finish', choice: 0, finish }]
  }

  end(): ChatEvent[] {
    return this.calls.endAll()
  }

  private startBlock({ start, contentBlockIndex: index }: JsonRecord): ChatEvent[] {
    const { toolUse } = recordOr(start)
    const opened = this.calls.open(0)
    this.blocks.delete(index)
    if (!isClientsCall(toolUse)) return opened
    const { toolUseId: id, name } = toolUse
    const call = this.calls.begin(0)
    this.blocks.set(index, call)
    return [...opened, ...this.calls.add(call, { id: textOr(id), name: textOr(name) })]
  }

  private readDelta({ delta: sent, contentBlockIndex: index }: JsonRecord): ChatEvent[] {
    const delta = recordOr(sent)
    const call = this.blocks.get(index)
    const args = textOr(recordOr(delta.toolUse).input)
    if (args !== '') return call === undefined ? [] : this.calls.add(call, { args })
    const said = [
      ...textEvent('thinking', recordOr(delta.reasoningContent).text),
      ...textEvent('text', delta.text),
    ]
    return said.length === 0 ? [] : [...this.calls.open(0), ...said]
  }
}
