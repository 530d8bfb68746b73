import { plainName } from '../canonical/plain-name.ts'
import type { UpstreamDialect } from '../dialect/dialect.ts'
import { statedStatus, statusInCode } from '../dialect/stated-error.ts'
import { textsOfResponses } from '../responses/texts.ts'
import { GatheredResponse } from '../gathering/gathered-response.ts'
import { readResponsesAnswer, ResponsesStreamReader } from '../responses/upstream/read-answer.ts'
import { inspectResponses, lookAtResponses } from '../responses/upstream/stream.ts'
import { writeResponsesRequest } from '../responses/upstream/write-request.ts'
import {
  baiduEvents,
  inspectBaidu,
  lookAtBaidu,
  readBaiduAnswer,
  textsOfBaidu,
} from './baidu/read-answer.ts'
import { writeBaiduRequest } from './baidu/write-request.ts'
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
import {
  CozeStreamReader,
  inspectCoze,
  lookAtCoze,
  readCozeAnswer,
  textsOfCoze,
} from './coze/read-answer.ts'
import { writeCozeRequest } from './coze/write-request.ts'
import {
  charactersIn,
  lookAtTranslation,
  readTranslation,
  textsOfTranslation,
  writeDeeplRequest,
} from './deepl/translation.ts'
import { FollowedStream } from '../dialect/followed-stream.ts'
import {
  inspectOllama,
  lookAtOllama,
  OllamaStreamReader,
  readOllamaAnswer,
  textsOfOllama,
} from './ollama/read-answer.ts'
import { writeOllamaRequest } from './ollama/write-request.ts'
import { OneCallStreamReader } from './one-call-answer.ts'
import {
  inspectReplicate,
  lookAtPrediction,
  readPrediction,
  ReplicateStreamReader,
  textsOfPrediction,
} from './replicate/read-answer.ts'
import { writeReplicateRequest } from './replicate/write-request.ts'
import {
  inspectSpark,
  lookAtSpark,
  readSparkAnswer,
  sparkEvents,
  textsOfSpark,
} from './spark/read-answer.ts'
import { writeSparkRequest } from './spark/write-request.ts'
import {
  inspectTencent,
  lookAtTencent,
  readTencentAnswer,
  TencentStreamReader,
  textsOfTencent,
} from './tencent/read-answer.ts'
import { writeTencentRequest } from './tencent/write-request.ts'

/** Dialects that only upstreams speak: one row each. */
export const nativeDialects = {
  baidu: {
    name: 'baidu',
    writeRequest: writeBaiduRequest,
    look: lookAtBaidu,
    textsOf: textsOfBaidu,
    readAnswer: readBaiduAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectBaidu(event, tokensMax)),
    streamReader: () => new OneCallStreamReader(baiduEvents),
    statusOf: statedStatus,
  },
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
    toolName: plainName,
    look: lookAtConverse,
    textsOf: textsOfConverse,
    readAnswer: readConverseAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectConverse(event, tokensMax)),
    streamReader: () => new ConverseStreamReader(),
    statusOf: statusInCode,
  },
  coze: {
    name: 'coze',
    limitsOutput: false,
    writeRequest: writeCozeRequest,
    look: lookAtCoze,
    textsOf: textsOfCoze,
    readAnswer: readCozeAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectCoze(event, tokensMax)),
    streamReader: () => new CozeStreamReader(),
    statusOf: statedStatus,
  },
  deepl: {
    name: 'deepl',
    writeRequest: writeDeeplRequest,
    estimate: charactersIn,
    look: lookAtTranslation,
    textsOf: textsOfTranslation,
    readAnswer: readTranslation,
    // It never streams: whatever came as events would be nothing of its own.
    follow: () => new FollowedStream((event) => ({ error: event })),
    streamReader: () => ({ read: () => [] }),
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
  replicate: {
    name: 'replicate',
    writeRequest: writeReplicateRequest,
    look: lookAtPrediction,
    textsOf: textsOfPrediction,
    readAnswer: readPrediction,
    follow: (tokensMax) => new FollowedStream((event) => inspectReplicate(event, tokensMax)),
    streamReader: () => new ReplicateStreamReader(),
  },
  responses: {
    name: 'responses',
    writeRequest: writeResponsesRequest,
    toolName: plainName,
    look: lookAtResponses,
    textsOf: textsOfResponses,
    readAnswer: readResponsesAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectResponses(event, tokensMax)),
    streamReader: () => new ResponsesStreamReader(),
    gatherer: () => new GatheredResponse(),
    statusOf: statedStatus,
  },
  spark: {
    name: 'spark',
    writeRequest: writeSparkRequest,
    look: lookAtSpark,
    textsOf: textsOfSpark,
    readAnswer: readSparkAnswer,
    follow: (tokensMax) => new FollowedStream((frame) => inspectSpark(frame, tokensMax)),
    streamReader: () => new OneCallStreamReader(sparkEvents),
    statusOf: statedStatus,
  },
  tencent: {
    name: 'tencent',
    limitsOutput: false,
    writeRequest: writeTencentRequest,
    look: lookAtTencent,
    textsOf: textsOfTencent,
    readAnswer: readTencentAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectTencent(event, tokensMax)),
    streamReader: () => new TencentStreamReader(),
    statusOf: statedStatus,
  },
} satisfies Record<string, UpstreamDialect>
