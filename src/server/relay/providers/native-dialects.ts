import type { UpstreamDialect } from '../dialect/dialect.ts'
import {
  ConverseStreamReader,
  inspectConverse,
  lookAtConverse,
  readConverseAnswer,
  textsOfConverse,
} from './bedrock/read-answer.ts'
import { writeConverseRequest } from './bedrock/write-request.ts'
import { CohereStreamReader, readCohereAnswer } from './cohere/read-answer.ts'
import { inspectCohere, lookAtCohere, textsOfCohere } from './cohere/stream.ts'
import { writeCohereRequest } from './cohere/write-request.ts'
import { FollowedStream } from './followed-stream.ts'
import {
  inspectOllama,
  lookAtOllama,
  OllamaStreamReader,
  readOllamaAnswer,
  textsOfOllama,
} from './ollama/read-answer.ts'
import { writeOllamaRequest } from './ollama/write-request.ts'

/** Dialects that only upstreams speak: one row each. */
export const nativeDialects = {
  cohere: {
    name: 'cohere',
    writeRequest: writeCohereRequest,
    look: lookAtCohere,
    textsOf: textsOfCohere,
    readAnswer: readCohereAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectCohere(event, tokensMax)),
    streamReader: () => new CohereStreamReader(),
  },
  converse: {
    name: 'converse',
    writeRequest: writeConverseRequest,
    look: lookAtConverse,
    textsOf: textsOfConverse,
    readAnswer: readConverseAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectConverse(event, tokensMax)),
    streamReader: () => new ConverseStreamReader(),
  },
  ollama: {
    name: 'ollama',
    writeRequest: writeOllamaRequest,
    look: lookAtOllama,
    textsOf: textsOfOllama,
    readAnswer: readOllamaAnswer,
    follow: (tokensMax) => new FollowedStream((line) => inspectOllama(line, tokensMax)),
    streamReader: () => new OllamaStreamReader(),
  },
} satisfies Record<string, UpstreamDialect>
