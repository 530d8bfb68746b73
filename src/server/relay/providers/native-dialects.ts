import { plainName } from '../canonical/plain-name.ts'
import type { UpstreamDialect } from '../dialect/dialect.ts'
import { statedStatus, statusInCode } from '../dialect/stated-error.ts'
import { textsOfResponses } from '../responses/texts.ts'
import { GatheredResponse } from '../gathering/gathered-response.ts'
import { readResponsesAnswer, ResponsesStreamReader } from '../responses/upstream/read-answer.ts'
import { followResponses, lookAtResponses } from '../responses/upstream/stream.ts'
import { RESPONSES_LACKS, writeResponsesRequest } from '../responses/upstream/write-request.ts'
import {
  baiduEvents,
  inspectBaidu,
  lookAtBaidu,
  readBaiduAnswer,
  textsOfBaidu,
} from '../vendors/baidu/read-answer.ts'
import { BAIDU_LACKS, writeBaiduRequest } from '../vendors/baidu/write-request.ts'
import {
  ConverseStreamReader,
  inspectConverse,
  lookAtConverse,
  readConverseAnswer,
  textsOfConverse,
} from '../vendors/bedrock/read-answer.ts'
import { CONVERSE_LACKS, writeConverseRequest } from '../vendors/bedrock/write-request.ts'
import { CohereStreamReader, readCohereAnswer } from '../vendors/cohere/read-answer.ts'
import { inspectCohere, lookAtCohere, textsOfCohere } from '../vendors/cohere/stream.ts'
import { COHERE_LACKS, writeCohereRequest } from '../vendors/cohere/write-request.ts'
import {
  CozeStreamReader,
  inspectCoze,
  lookAtCoze,
  readCozeAnswer,
  textsOfCoze,
} from '../vendors/coze/read-answer.ts'
import { COZE_LACKS, writeCozeRequest } from '../vendors/coze/write-request.ts'
import {
  charactersIn,
  DEEPL_LACKS,
  lookAtTranslation,
  readTranslation,
  textsOfTranslation,
  writeDeeplRequest,
} from '../vendors/deepl/translation.ts'
import { FollowedStream } from '../dialect/followed-stream.ts'
import {
  inspectOllama,
  lookAtOllama,
  OllamaStreamReader,
  readOllamaAnswer,
  textsOfOllama,
} from '../vendors/ollama/read-answer.ts'
import { OLLAMA_LACKS, writeOllamaRequest } from '../vendors/ollama/write-request.ts'
import { OneCallStreamReader } from './one-call-answer.ts'
import {
  inspectReplicate,
  lookAtPrediction,
  readPrediction,
  ReplicateStreamReader,
  textsOfPrediction,
} from '../vendors/replicate/read-answer.ts'
import { REPLICATE_LACKS, writeReplicateRequest } from '../vendors/replicate/write-request.ts'
import {
  inspectSpark,
  lookAtSpark,
  readSparkAnswer,
  sparkEvents,
  textsOfSpark,
} from '../vendors/spark/read-answer.ts'
import { SPARK_LACKS, writeSparkRequest } from '../vendors/spark/write-request.ts'
import {
  inspectTencent,
  lookAtTencent,
  readTencentAnswer,
  TencentStreamReader,
  textsOfTencent,
} from '../vendors/tencent/read-answer.ts'
import { TENCENT_LACKS, writeTencentRequest } from '../vendors/tencent/write-request.ts'

/** Dialects that only upstreams speak: one row each. */
export const nativeDialects = {
  baidu: {
    name: 'baidu',
    writeRequest: writeBaiduRequest,
    lacks: BAIDU_LACKS,
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
    lacks: COHERE_LACKS,
    look: lookAtCohere,
    textsOf: textsOfCohere,
    readAnswer: readCohereAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectCohere(event, tokensMax)),
    streamReader: () => new CohereStreamReader(),
  },
  converse: {
    name: 'converse',
    writeRequest: writeConverseRequest,
    lacks: CONVERSE_LACKS,
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
    lacks: COZE_LACKS,
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
    lacks: DEEPL_LACKS,
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
    lacks: OLLAMA_LACKS,
    look: lookAtOllama,
    textsOf: textsOfOllama,
    readAnswer: readOllamaAnswer,
    follow: (tokensMax) => new FollowedStream((line) => inspectOllama(line, tokensMax)),
    streamReader: () => new OllamaStreamReader(),
  },
  replicate: {
    name: 'replicate',
    writeRequest: writeReplicateRequest,
    lacks: REPLICATE_LACKS,
    look: lookAtPrediction,
    textsOf: textsOfPrediction,
    readAnswer: readPrediction,
    follow: (tokensMax) => new FollowedStream((event) => inspectReplicate(event, tokensMax)),
    streamReader: () => new ReplicateStreamReader(),
  },
  responses: {
    name: 'responses',
    writeRequest: writeResponsesRequest,
    lacks: RESPONSES_LACKS,
    toolName: plainName,
    look: lookAtResponses,
    textsOf: textsOfResponses,
    readAnswer: readResponsesAnswer,
    follow: followResponses,
    streamReader: () => new ResponsesStreamReader(),
    gatherer: () => new GatheredResponse(),
    statusOf: statedStatus,
  },
  spark: {
    name: 'spark',
    writeRequest: writeSparkRequest,
    lacks: SPARK_LACKS,
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
    lacks: TENCENT_LACKS,
    look: lookAtTencent,
    textsOf: textsOfTencent,
    readAnswer: readTencentAnswer,
    follow: (tokensMax) => new FollowedStream((event) => inspectTencent(event, tokensMax)),
    streamReader: () => new TencentStreamReader(),
    statusOf: statedStatus,
  },
} satisfies Record<string, UpstreamDialect>
