import type { DialectName } from '../protocols/canonical/chat-request.ts'
import { plainName } from '../protocols/canonical/tool-calls.ts'
import { GatheredMessage } from '../protocols/anthropic/gathered-message.ts'
import { readAnthropicRequest } from '../protocols/anthropic/read-request.ts'
import { messageAsEvents } from '../protocols/anthropic/message-events.ts'
import { AnthropicStreamReader, readAnthropicAnswer } from '../protocols/anthropic/read-answer.ts'
import { AnthropicStreamWriter, writeAnthropicAnswer } from '../protocols/anthropic/write-answer.ts'
import { ANTHROPIC_LACKS, writeAnthropicRequest } from '../protocols/anthropic/write-request.ts'
import { JoinedResponse } from '../protocols/gemini/joined-response.ts'
import { GeminiStreamReader, readGeminiAnswer } from '../protocols/gemini/read-answer.ts'
import { readGeminiRequest } from '../protocols/gemini/read-request.ts'
import { GeminiStreamWriter, writeGeminiAnswer } from '../protocols/gemini/write-answer.ts'
import { GEMINI_LACKS, writeGeminiRequest } from '../protocols/gemini/write-request.ts'
import { GatheredCompletion } from '../protocols/openai-chat/gathered-completion.ts'
import { completionAsEvents, readOpenaiAnswer } from '../protocols/openai-chat/openai-answer.ts'
import { OpenaiStreamReader } from '../protocols/openai-chat/read-answer.ts'
import { readOpenaiRequest } from '../protocols/openai-chat/read-request.ts'
import { OpenaiStreamWriter, writeOpenaiAnswer } from '../protocols/openai-chat/write-answer.ts'
import { writeOpenaiRequest } from '../protocols/openai-chat/write-request.ts'
import { openaiStatus } from './openai-statuses.ts'
import { statedStatus, statusInCode } from '../protocols/dialect/error-body.ts'
import type { Provider } from '../protocols/dialect/provider.ts'
import {
  readResponsesAnswer,
  ResponsesStreamReader,
} from '../protocols/openai-responses/upstream/read-answer.ts'
import {
  RESPONSES_LACKS,
  writeResponsesRequest,
} from '../protocols/openai-responses/upstream/write-request.ts'
import type { Dialect, UpstreamDialect } from '../protocols/dialect/dialect.ts'
import {
  anthropicError,
  anthropicStatus,
  geminiError,
  openaiError,
} from '../protocols/dialect/error-words.ts'

const openai: Dialect = {
  name: 'openai',
  readRequest: readOpenaiRequest,
  writeRequest: writeOpenaiRequest,
  toolName: plainName,
  readAnswer: readOpenaiAnswer,
  readStream: () => new OpenaiStreamReader(),
  writeAnswer: writeOpenaiAnswer,
  gatherer: () => new GatheredCompletion(),
  statusOf: openaiStatus,
  streamWriter: (head) => new OpenaiStreamWriter(head),
  wholeAsEvents: (answer, wantsUsage) =>
    completionAsEvents(answer, wantsUsage).map((data) => ({ data: JSON.stringify(data) })),
  end: { data: '[DONE]' },
  errorBody: openaiError,
  errorPiece: (error, requestId) => ({ data: openaiError(error, requestId) }),
}

const anthropic: Dialect = {
  name: 'anthropic',
  readRequest: readAnthropicRequest,
  writeRequest: writeAnthropicRequest,
  lacks: ANTHROPIC_LACKS,
  toolName: plainName,
  readAnswer: (bytes) => readAnthropicAnswer(bytes),
  readStream: () => new AnthropicStreamReader(),
  writeAnswer: writeAnthropicAnswer,
  gatherer: () => new GatheredMessage(),
  statusOf: anthropicStatus,
  streamWriter: (head) => new AnthropicStreamWriter(head),
  wholeAsEvents: (message) =>
    messageAsEvents(message).map((event) => ({
      name: String(event.type),
      data: JSON.stringify(event),
    })),
  end: { name: 'message_stop', data: '{"type":"message_stop"}' },
  errorBody: anthropicError,
  errorPiece: (error, requestId) => ({ name: 'error', data: anthropicError(error, requestId) }),
}

const gemini: Dialect = {
  name: 'gemini',
  readRequest: readGeminiRequest,
  writeRequest: writeGeminiRequest,
  lacks: GEMINI_LACKS,
  readAnswer: (bytes) => readGeminiAnswer(bytes),
  readStream: () => new GeminiStreamReader(),
  writeAnswer: writeGeminiAnswer,
  gatherer: () => new JoinedResponse(),
  statusOf: statusInCode,
  streamWriter: (head) => new GeminiStreamWriter(head),
  wholeAsEvents: (answer) => [{ data: JSON.stringify(answer) }],
  end: null,
  errorBody: geminiError,
  errorPiece: (error, requestId) => ({ data: geminiError(error, requestId) }),
}

/** Dialects of clients by name, one row each. */
export const dialects: Readonly<Record<DialectName, Dialect>> = { openai, anthropic, gemini }

/** The Responses API, which upstreams offer in addition to OpenAI's chat completions. */
export const responsesDialect: UpstreamDialect = {
  name: 'responses',
  writeRequest: writeResponsesRequest,
  lacks: RESPONSES_LACKS,
  toolName: plainName,
  readAnswer: readResponsesAnswer,
  readStream: () => new ResponsesStreamReader(),
  statusOf: statedStatus,
}

export const dialectOf = ({ dialect }: Pick<Provider, 'dialect'>): UpstreamDialect =>
  typeof dialect === 'string' ? dialects[dialect] : dialect
