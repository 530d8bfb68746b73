import { expect, test } from 'vitest'
import { upstreamError } from './upstream-error.ts'
import type { RelayError } from '../protocols/dialect/relay-error.ts'
import { inWordsOf } from './client-error.ts'
import { disablingOf, verdictOfError } from './verdict.ts'

/** The consequences of a refusal; no other properties are checked. */
type Fate = 'to the client' | 'another is asked' | 'suspected' | 'disabled'

function fateOf(error: RelayError): Fate {
  const disabling = disablingOf(error)
  if (disabling === 'at once') return 'disabled'
  if (disabling === 'repeated') return 'suspected'
  return verdictOfError(error).retry ? 'another is asked' : 'to the client'
}

interface Refused {
  type: number
  status: number
  body?: unknown
  baseUrl?: string
  amazonsName?: string
}

/** A text is sent as the body unchanged. */
const refusal = ({ type, status, body = {}, baseUrl = '', amazonsName }: Refused): RelayError =>
  upstreamError({ status, body: bytesOf(body), amazonsName }, 'en', {
    type,
    key: 'k',
    baseUrl,
  })

const bytesOf = (body: unknown): Buffer =>
  Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

const coded = (code: unknown, type?: string, message = 'No.') => ({
  error: { message, code, type },
})
const TOO_LOW =
  'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.'
const NO_DEPLOYMENT = coded(
  'DeploymentNotFound',
  undefined,
  'The API deployment for this resource does not exist.',
)
const NOT_ALLOWED =
  'User: arn:aws:iam::123456789012:user/x is not authorized to perform: bedrock:InvokeModel on ' +
  'resource: arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0'
const TOO_LARGE = 'This request requires more credits, or fewer max_tokens.'
const XAI_INVALID = 'Client specified an invalid argument'
const XAI_DENIED = 'The caller does not have permission to execute the specified operation'
const SPENT = 'has either used all available credits or reached its monthly spending limit.'

test.each<[string, Refused, Fate]>([
  // Accounts and keys.
  ['Alibaba, in arrears', { type: 17, status: 400, body: coded('Arrearage') }, 'disabled'],
  ['Alibaba, in arrears', { type: 49, status: 400, body: coded('Arrearage') }, 'disabled'],
  ['Zhipu, in arrears', { type: 16, status: 429, body: coded('1113') }, 'disabled'],
  ['Zhipu, account locked', { type: 16, status: 429, body: coded('1112') }, 'suspected'],
  ['Zhipu, plan over', { type: 16, status: 429, body: coded('1309') }, 'disabled'],
  [
    'Zhipu by its address',
    { type: 50, status: 429, body: coded('1113'), baseUrl: 'https://open.bigmodel.cn/api/paas/v4' },
    'disabled',
  ],
  ['Ark, overdue', { type: 40, status: 403, body: coded('AccountOverdueError') }, 'disabled'],
  [
    'Moonshot, suspended',
    { type: 25, status: 429, body: coded(null, 'exceeded_current_quota_error') },
    'disabled',
  ],
  [
    'SiliconFlow, nothing left',
    { type: 44, status: 403, body: { code: 30_001, message: 'No.' } },
    'disabled',
  ],
  [
    'Novita, nothing left',
    { type: 41, status: 403, body: { code: 403, reason: 'NOT_ENOUGH_BALANCE' } },
    'disabled',
  ],
  [
    'xAI, wrong key',
    {
      type: 45,
      status: 400,
      body: { code: XAI_INVALID, error: 'Incorrect API key provided: xa***aa.' },
    },
    'suspected',
  ],
  [
    'xAI, nothing left',
    { type: 45, status: 403, body: { code: XAI_DENIED, error: `Your team a-1 ${SPENT}` } },
    'disabled',
  ],
  [
    'Anthropic, nothing left',
    { type: 14, status: 400, body: coded(undefined, 'invalid_request_error', TOO_LOW) },
    'disabled',
  ],
  [
    'Anthropic, closed',
    {
      type: 14,
      status: 400,
      body: coded(undefined, 'invalid_request_error', 'This organization has been disabled.'),
    },
    'suspected',
  ],
  [
    'OpenRouter, nothing left',
    { type: 20, status: 402, body: coded(402, undefined, 'Insufficient credits. Add more') },
    'disabled',
  ],
  ['DeepL, wrong key', { type: 38, status: 403 }, 'suspected'],
  [
    'Bedrock, unknown key',
    { type: 33, status: 403, amazonsName: 'UnrecognizedClientException' },
    'suspected',
  ],
  [
    'Bedrock, wrong secret',
    { type: 33, status: 403, amazonsName: 'InvalidSignatureException' },
    'suspected',
  ],
  // Errors that do not concern the account, or not all of it.
  [
    'Bedrock, a user without the right',
    { type: 33, status: 403, body: { Message: NOT_ALLOWED }, amazonsName: 'AccessDeniedException' },
    'another is asked',
  ],
  [
    'Bedrock, one model denied',
    { type: 33, status: 403, amazonsName: 'AccessDeniedException' },
    'another is asked',
  ],
  [
    'OpenRouter, too little for this request',
    {
      type: 20,
      status: 402,
      body: coded(402, undefined, `${TOO_LARGE} You requested up to 65536 tokens, but`),
    },
    'another is asked',
  ],
  ['Zhipu, too many calls', { type: 16, status: 429, body: coded('1302') }, 'another is asked'],
  [
    'a reseller’s own bill',
    { type: 50, status: 429, body: coded('', 'exceeded_current_quota_error') },
    'another is asked',
  ],
  ['somebody else’s 1113', { type: 1, status: 429, body: coded('1113') }, 'another is asked'],
  ['somebody else’s 403', { type: 1, status: 403 }, 'another is asked'],
  [
    'a bill in the middle of other words',
    {
      type: 14,
      status: 400,
      body: coded(undefined, 'invalid_request_error', `messages.0: "${TOO_LOW}"`),
    },
    'to the client',
  ],
  [
    'xAI, any other argument',
    {
      type: 45,
      status: 400,
      body: { code: XAI_INVALID, error: 'Bad "Incorrect API key provided"' },
    },
    'to the client',
  ],
  // A missing model.
  ['Zhipu', { type: 16, status: 400, body: coded('1211', '', '模型不存在') }, 'another is asked'],
  ['Azure', { type: 3, status: 404, body: NO_DEPLOYMENT }, 'another is asked'],
  [
    'Azure by its address',
    { type: 50, status: 404, body: NO_DEPLOYMENT, baseUrl: 'https://a.openai.azure.com/openai/v1' },
    'another is asked',
  ],
  ['somebody else’s', { type: 1, status: 404, body: NO_DEPLOYMENT }, 'to the client'],
  [
    'SiliconFlow',
    { type: 44, status: 400, body: { code: 20_012, message: 'Model does not exist.' } },
    'another is asked',
  ],
  [
    'Bedrock',
    {
      type: 33,
      status: 400,
      body: { message: 'The provided model identifier is invalid.' },
      amazonsName: 'ValidationException',
    },
    'another is asked',
  ],
  [
    'DeepSeek',
    { type: 36, status: 400, body: coded('invalid_request_error', '', 'Model Not Exist') },
    'another is asked',
  ],
  [
    'SiliconFlow by a compatible channel',
    { type: 50, status: 400, body: { code: 20_012, message: 'Model does not exist.' } },
    'another is asked',
  ],
  [
    'Zhipu by a compatible channel',
    { type: 50, status: 400, body: coded('1211', '', '模型不存在，请检查模型代码。') },
    'another is asked',
  ],
  [
    'OpenRouter',
    { type: 20, status: 400, body: coded(400, '', 'x/y-1 is not a valid model ID') },
    'another is asked',
  ],
  [
    'OpenRouter, nobody who serves it',
    { type: 20, status: 404, body: coded(404, '', 'No endpoints found for x/y-1.') },
    'another is asked',
  ],
  ['Mistral', { type: 28, status: 400, body: coded('1500', 'invalid_model') }, 'another is asked'],
  [
    'LiteLLM',
    {
      type: 50,
      status: 400,
      body: coded(
        '400',
        'invalid_request_error',
        '/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view',
      ),
    },
    'another is asked',
  ],
  [
    'MiniMax',
    {
      type: 27,
      status: 400,
      body: { error: { status_code: 2013, message: "invalid params, unknown model 'x' (2013)" } },
    },
    'another is asked',
  ],
  [
    'Groq, a retired one',
    { type: 29, status: 400, body: coded('model_decommissioned', 'invalid_request_error') },
    'another is asked',
  ],
  [
    'Voyage',
    {
      type: 50,
      status: 400,
      body: { detail: "Model x is not supported. Supported models are ['y']." },
    },
    'another is asked',
  ],
  [
    'NVIDIA, a retired one',
    { type: 50, status: 410, body: { detail: 'Gone' } },
    'another is asked',
  ],
  [
    'a model that somebody writes about',
    { type: 50, status: 400, body: coded('', '', 'messages.0: "Model Not Exist"') },
    'to the client',
  ],
  // A missing endpoint.
  [
    'a page instead of JSON',
    { type: 50, status: 404, body: '<html>404</html>' },
    'another is asked',
  ],
  ['a framework', { type: 50, status: 404, body: { detail: 'Not Found' } }, 'another is asked'],
  // Money, keys and limits in other statuses.
  [
    'OpenAI’s limit of a bill',
    { type: 50, status: 400, body: coded('billing_hard_limit_reached') },
    'disabled',
  ],
  [
    'a gateway without money',
    { type: 50, status: 500, body: coded('', '', '用户额度不足, 剩余额度: ¥0.23') },
    'another is asked',
  ],
  [
    'a wrong key with 400',
    { type: 50, status: 400, body: coded('', '', 'Incorrect API key provided: x') },
    'suspected',
  ],
  [
    'Groq’s tokens of a minute',
    { type: 29, status: 413, body: coded('rate_limit_exceeded', 'tokens') },
    'another is asked',
  ],
  [
    'Amazon’s throttle with 400',
    { type: 33, status: 400, amazonsName: 'ThrottlingException' },
    'another is asked',
  ],
  // Invalid requests.
  [
    'OpenRouter’s filter',
    { type: 20, status: 403, body: coded(403, '', 'Your input was flagged for "x"') },
    'to the client',
  ],
  [
    'xAI’s filter',
    {
      type: 45,
      status: 403,
      body: { code: XAI_DENIED, error: 'Content violates usage guidelines. Failed check: X' },
    },
    'to the client',
  ],
  [
    'Together’s limit of a prompt',
    {
      type: 39,
      status: 403,
      body: coded(null, 'invalid_request_error', 'tokens + max_tokens must be less than …'),
    },
    'to the client',
  ],
  [
    'Alibaba’s filter',
    { type: 49, status: 502, body: coded('data_inspection_failed') },
    'to the client',
  ],
  ['Zhipu’s filter', { type: 16, status: 502, body: coded('1301') }, 'to the client'],
  [
    'Ark’s filter',
    { type: 40, status: 502, body: coded('OutputTextSensitiveContentDetected') },
    'to the client',
  ],
  [
    'Moonshot’s filter',
    { type: 25, status: 502, body: coded('', 'content_filter') },
    'to the client',
  ],
  [
    'Groq’s failed call',
    { type: 29, status: 502, body: coded('tool_use_failed') },
    'to the client',
  ],
  // Temporary failures of the upstream stay temporary.
  [
    'a hidden failure',
    { type: 49, status: 502, body: coded('internal_error') },
    'another is asked',
  ],
])('%s: %j %s', (_what, refused, fate) => {
  expect(fateOf(refusal(refused))).toBe(fate)
})

test.each([
  { type: 17 },
  { type: 49 },
  { type: 50, baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' },
])('Alibaba’s tokens of a minute are no bill, whatever it calls them: %j', (channel) => {
  const body = coded('insufficient_quota', 'insufficient_quota')
  const error = refusal({ status: 429, body, ...channel })
  expect(error).toMatchObject({
    status: 429,
    type: 'rate_limit_exceeded',
    code: 'rate_limit_exceeded',
  })
  expect(fateOf(error)).toBe('another is asked')
  // Messages of OpenAI.
  expect(fateOf(refusal({ type: 1, status: 429, body }))).toBe('disabled')
})

const ANTHROPIC_LONG = 'prompt is too long: 215000 tokens > 200000 maximum'
const GEMINI_LONG =
  'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
const DEEPSEEK_LONG =
  "This model's maximum context length is 131072 tokens. However, you requested 160000 tokens (128000 in the messages, 32000 in the completion). Please reduce the length."
const ROOM_LONG =
  "This model's maximum context length is 131072 tokens. However, you requested 132000 tokens (100000 in the messages, 32000 in the completion). Please reduce the length."

test.each<[Refused, string]>([
  [{ type: 14, status: 400, body: coded('', '', ANTHROPIC_LONG) }, ANTHROPIC_LONG],
  [
    { type: 24, status: 400, body: coded(400, 'INVALID_ARGUMENT', GEMINI_LONG) },
    'prompt is too long: 1200000 tokens > 1048576 maximum',
  ],
  [
    { type: 36, status: 400, body: coded('', '', DEEPSEEK_LONG) },
    'prompt is too long: 160000 tokens > 131072 maximum',
  ],
  // Errors that a lower output limit would avoid.
  [
    { type: 36, status: 400, body: coded('', '', ROOM_LONG) },
    'input length and `max_tokens` exceed context limit: 100000 + 32000 > 131072',
  ],
  [
    {
      type: 1,
      status: 400,
      body: coded('context_length_exceeded', '', 'Your input exceeds the context window.'),
    },
    'prompt is too long',
  ],
  [
    {
      type: 17,
      status: 400,
      body: coded(
        'invalid_parameter_error',
        '',
        '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]',
      ),
    },
    'prompt is too long',
  ],
  [
    {
      type: 25,
      status: 400,
      body: coded(
        '',
        '',
        'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)',
      ),
    },
    'prompt is too long: 291351 tokens > 262144 maximum',
  ],
  [
    {
      type: 45,
      status: 400,
      body: {
        code: XAI_INVALID,
        error:
          "This model's maximum prompt length is 131072 but the request contains 149617 tokens.",
      },
    },
    'prompt is too long: 149617 tokens > 131072 maximum',
  ],
  [{ type: 16, status: 400, body: coded('1261', '', 'Prompt 超长') }, 'prompt is too long'],
  [
    {
      type: 8,
      status: 500,
      body: coded(
        500,
        'exceed_context_size_error',
        'the request exceeds the available context size, try increasing it',
      ),
    },
    'prompt is too long',
  ],
  [
    {
      type: 8,
      status: 400,
      body: coded(
        400,
        '',
        "This model's maximum context length is 4096 tokens. However, you requested 500 output tokens and your prompt contains at least 3597 input tokens, for a total of at least 4097 tokens.",
      ),
    },
    'prompt is too long: 4097 tokens > 4096 maximum',
  ],
])('a request that is too long, %j, is called so: %s', (refused, told) => {
  const error = refusal(refused)
  expect(fateOf(error)).toBe('to the client')
  expect(inWordsOf('openai', error)).toMatchObject({ status: 400, code: 'context_length_exceeded' })
  const { message, status } = inWordsOf('anthropic', error)
  expect(status).toBe(400)
  expect(message.startsWith(told === error.message ? told : `${told}. `)).toBe(true)
  expect(message.endsWith(error.message)).toBe(true)
})

test('a message of another server does not make a request too long', () => {
  const said = `messages.0: "${ANTHROPIC_LONG}"`
  const error = refusal({ type: 14, status: 400, body: coded('', 'invalid_request_error', said) })
  expect(inWordsOf('openai', error)).toBe(error)
  expect(error.tooLong).toBeUndefined()
})

test('Amazon’s permission error is reported without the user’s identity', () => {
  const refused = { type: 33, status: 403, body: { Message: NOT_ALLOWED } }
  expect(refusal(refused).message).toBe(
    'User: *** is not authorized to perform: bedrock:InvokeModel on resource: ***',
  )
})
