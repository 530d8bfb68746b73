import type { DialectName } from '../canonical/chat-request.ts'
import { plainName } from '../canonical/plain-name.ts'
import { GatheredMessage } from '../gathering/gathered-message.ts'
import { readAnthropicRequest } from '../anthropic/read-request.ts'
import { messageAsEvents } from '../anthropic/message-events.ts'
import { AnthropicStreamReader, readAnthropicAnswer } from '../anthropic/read-answer.ts'
import { AnthropicStreamWriter, writeAnthropicAnswer } from '../anthropic/write-answer.ts'
import { ANTHROPIC_LACKS, writeAnthropicRequest } from '../anthropic/write-request.ts'
import { JoinedResponse } from '../gemini/joined-response.ts'
import { GeminiStreamReader, readGeminiAnswer } from '../gemini/read-answer.ts'
import { readGeminiRequest } from '../gemini/read-request.ts'
import { GeminiStreamWriter, writeGeminiAnswer } from '../gemini/write-answer.ts'
import { GEMINI_LACKS, writeGeminiRequest } from '../gemini/write-request.ts'
import { GatheredCompletion } from '../gathering/gathered-completion.ts'
import { completionAsEvents, readOpenaiAnswer } from '../openai/openai-answer.ts'
import { OpenaiStreamReader } from '../openai/read-answer.ts'
import { readOpenaiRequest } from '../openai/read-request.ts'
import { OpenaiStreamWriter, writeOpenaiAnswer } from '../openai/write-answer.ts'
import { writeOpenaiRequest } from '../openai/write-request.ts'
import { openaiStatus } from './openai-statuses.ts'
import { statedStatus, statusInCode } from '../dialect/stated-error.ts'
import type { Provider } from '../dialect/provider.ts'
import { readResponsesAnswer, ResponsesStreamReader } from '../responses/upstream/read-answer.ts'
import { RESPONSES_LACKS, writeResponsesRequest } from '../responses/upstream/write-request.ts'
import type { Dialect, UpstreamDialect } from '../dialect/dialect.ts'
import {
  anthropicError,
  anthropicStatus,
  geminiError,
  openaiError,
} from '../dialect/error-words.ts'

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

/** Every dialect that clients speak, by its name: one row each. */
export const dialects: Readonly<Record<DialectName, Dialect>> = { openai, anthropic, gemini }

/** The Responses API, which upstreams offer beside OpenAI's chat. */
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
