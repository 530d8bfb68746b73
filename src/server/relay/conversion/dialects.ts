import type { DialectName, UpstreamName } from '../canonical/chat-request.ts'
import { plainName } from '../canonical/plain-name.ts'
import { GatheredMessage } from '../gathering/gathered-message.ts'
import { readAnthropicRequest } from '../anthropic/read-request.ts'
import { AnthropicStreamReader, readAnthropicAnswer } from '../anthropic/read-answer.ts'
import {
  AnthropicStream,
  lookAtMessage,
  messageAsEvents,
  textsOfMessage,
} from '../anthropic/stream.ts'
import { AnthropicStreamWriter, writeAnthropicAnswer } from '../anthropic/write-answer.ts'
import { ANTHROPIC_LACKS, writeAnthropicRequest } from '../anthropic/write-request.ts'
import { JoinedResponse } from '../gemini/joined-response.ts'
import { GeminiStreamReader, readGeminiAnswer } from '../gemini/read-answer.ts'
import { readGeminiRequest } from '../gemini/read-request.ts'
import { GeminiStream, lookAtResponse, textsOfResponse } from '../gemini/stream.ts'
import { GeminiStreamWriter, writeGeminiAnswer } from '../gemini/write-answer.ts'
import { GEMINI_LACKS, writeGeminiRequest } from '../gemini/write-request.ts'
import { GatheredCompletion } from '../gathering/gathered-completion.ts'
import { completionAsEvents, readAnswer } from '../openai/openai-answer.ts'
import { answerTexts } from '../openai/openai-chunk.ts'
import { OpenaiStreamReader, readOpenaiAnswer } from '../openai/read-answer.ts'
import { readOpenaiRequest } from '../openai/read-request.ts'
import { OpenaiStream } from '../openai/stream-outcome.ts'
import { OpenaiStreamWriter, writeOpenaiAnswer } from '../openai/write-answer.ts'
import { writeOpenaiRequest } from '../openai/write-request.ts'
import { nativeDialects } from '../providers/native-dialects.ts'
import { openaiStatus } from '../providers/openai-statuses.ts'
import { statusInCode } from '../dialect/stated-error.ts'
import type { Dialect, StreamGatherer, UpstreamDialect } from '../dialect/dialect.ts'
import { WRITING_TASKS, type Task } from '../dialect/provider.ts'
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
  look: readAnswer,
  textsOf: answerTexts,
  readAnswer: readOpenaiAnswer,
  writeAnswer: writeOpenaiAnswer,
  follow: (tokensMax) => new OpenaiStream(tokensMax),
  streamReader: () => new OpenaiStreamReader(),
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
  look: lookAtMessage,
  textsOf: textsOfMessage,
  readAnswer: readAnthropicAnswer,
  writeAnswer: writeAnthropicAnswer,
  follow: (tokensMax) => new AnthropicStream(tokensMax),
  streamReader: () => new AnthropicStreamReader(),
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
  look: lookAtResponse,
  textsOf: textsOfResponse,
  readAnswer: readGeminiAnswer,
  writeAnswer: writeGeminiAnswer,
  follow: (tokensMax) => new GeminiStream(tokensMax),
  converted: {
    look: (bytes, tokensMax) => lookAtResponse(bytes, tokensMax, { isConverted: true }),
    follow: (tokensMax) => new GeminiStream(tokensMax, { isConverted: true }),
  },
  streamReader: () => new GeminiStreamReader(),
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

/** Every dialect that upstreams speak. */
export const upstreamDialects: Readonly<Record<UpstreamName, UpstreamDialect>> = {
  ...dialects,
  ...nativeDialects,
}

/** Of a response its own, whatever its server speaks otherwise; null: of such none is known. */
export function gathererOf(task: Task, name: UpstreamName): (() => StreamGatherer) | null {
  const dialect: UpstreamDialect = upstreamDialects[task === 'responses' ? task : name]
  return WRITING_TASKS.has(task) ? (dialect.gatherer ?? null) : null
}
