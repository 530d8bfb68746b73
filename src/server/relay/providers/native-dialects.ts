import { plainName } from '../canonical/plain-name.ts'
import type { UpstreamDialect } from '../dialect/dialect.ts'
import { statedStatus, statusInCode } from '../dialect/stated-error.ts'
import { readResponsesAnswer, ResponsesStreamReader } from '../responses/upstream/read-answer.ts'
import { RESPONSES_LACKS, writeResponsesRequest } from '../responses/upstream/write-request.ts'
import { baiduStream, readBaiduAnswer } from '../vendors/baidu/read-answer.ts'
import { BAIDU_LACKS, writeBaiduRequest } from '../vendors/baidu/write-request.ts'
import { ConverseStreamReader, readConverseAnswer } from '../vendors/bedrock/read-answer.ts'
import { CONVERSE_LACKS, writeConverseRequest } from '../vendors/bedrock/write-request.ts'
import { CohereStreamReader, readCohereAnswer } from '../vendors/cohere/read-answer.ts'
import { COHERE_LACKS, writeCohereRequest } from '../vendors/cohere/write-request.ts'
import { readCozeAnswer, readCozeEvent } from '../vendors/coze/read-answer.ts'
import { COZE_LACKS, writeCozeRequest } from '../vendors/coze/write-request.ts'
import {
  charactersIn,
  DEEPL_LACKS,
  noStream,
  readTranslation,
  writeDeeplRequest,
} from '../vendors/deepl/translation.ts'
import { OllamaStreamReader, readOllamaAnswer } from '../vendors/ollama/read-answer.ts'
import { OLLAMA_LACKS, writeOllamaRequest } from '../vendors/ollama/write-request.ts'
import { readReplicateAnswer, readReplicateEvent } from '../vendors/replicate/read-answer.ts'
import { REPLICATE_LACKS, writeReplicateRequest } from '../vendors/replicate/write-request.ts'
import { readSparkAnswer, sparkStream } from '../vendors/spark/read-answer.ts'
import { SPARK_LACKS, writeSparkRequest } from '../vendors/spark/write-request.ts'
import { readTencentAnswer, TencentStreamReader } from '../vendors/tencent/read-answer.ts'
import { TENCENT_LACKS, writeTencentRequest } from '../vendors/tencent/write-request.ts'

/** Dialects that only upstreams speak: one row each. */
export const nativeDialects = {
  baidu: {
    name: 'baidu',
    writeRequest: writeBaiduRequest,
    lacks: BAIDU_LACKS,
    readAnswer: readBaiduAnswer,
    readStream: baiduStream,
    statusOf: statedStatus,
  },
  cohere: {
    name: 'cohere',
    writeRequest: writeCohereRequest,
    lacks: COHERE_LACKS,
    readAnswer: readCohereAnswer,
    readStream: () => new CohereStreamReader(),
  },
  converse: {
    name: 'converse',
    writeRequest: writeConverseRequest,
    lacks: CONVERSE_LACKS,
    toolName: plainName,
    readAnswer: readConverseAnswer,
    readStream: () => new ConverseStreamReader(),
    statusOf: statusInCode,
  },
  coze: {
    name: 'coze',
    limitsOutput: false,
    writeRequest: writeCozeRequest,
    lacks: COZE_LACKS,
    readAnswer: readCozeAnswer,
    readStream: () => ({ read: readCozeEvent }),
    statusOf: statedStatus,
  },
  deepl: {
    name: 'deepl',
    writeRequest: writeDeeplRequest,
    lacks: DEEPL_LACKS,
    estimate: charactersIn,
    readAnswer: readTranslation,
    readStream: () => noStream,
  },
  ollama: {
    name: 'ollama',
    writeRequest: writeOllamaRequest,
    lacks: OLLAMA_LACKS,
    readAnswer: readOllamaAnswer,
    readStream: () => new OllamaStreamReader(),
  },
  replicate: {
    name: 'replicate',
    writeRequest: writeReplicateRequest,
    lacks: REPLICATE_LACKS,
    readAnswer: readReplicateAnswer,
    readStream: () => ({ read: readReplicateEvent }),
  },
  responses: {
    name: 'responses',
    writeRequest: writeResponsesRequest,
    lacks: RESPONSES_LACKS,
    toolName: plainName,
    readAnswer: readResponsesAnswer,
    readStream: () => new ResponsesStreamReader(),
    statusOf: statedStatus,
  },
  spark: {
    name: 'spark',
    writeRequest: writeSparkRequest,
    lacks: SPARK_LACKS,
    readAnswer: readSparkAnswer,
    readStream: sparkStream,
    statusOf: statedStatus,
  },
  tencent: {
    name: 'tencent',
    limitsOutput: false,
    writeRequest: writeTencentRequest,
    lacks: TENCENT_LACKS,
    readAnswer: readTencentAnswer,
    readStream: () => new TencentStreamReader(),
    statusOf: statedStatus,
  },
} satisfies Record<string, UpstreamDialect>
