import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isObject, listOf, objectOf, textOf, type Call, type Json } from '../../call.ts'
import { produceNative } from '../../dialects/native-wishes.ts'

/** The only application. */
export const SPARK_ACCOUNT = {
  appId: 'fakeapp1',
  secret: 'fake-spark-secret-0123456789',
  key: 'fake-spark-key-0123456789abcdef',
}

const PROMPT_TOKENS = 11

const DOMAINS: Record<string, string> = {
  '/v1.1/chat': 'lite',
  '/v2.1/chat': 'generalv2',
  '/v3.1/chat': 'generalv3',
  '/v3.5/chat': 'generalv3.5',
  '/v4.0/chat': '4.0Ultra',
  '/chat/pro-128k': 'pro-128k',
  '/chat/max-32k': 'max-32k',
}

const ERROR_CODES: Record<number, number> = {
  400: 10_163,
  403: 11_200,
  429: 11_202,
  500: 10_012,
  503: 10_008,
}

/** Verifies a signed address byte by byte; null if it is valid. */
export function sparkSignatureProblem({ url = '', headers }: IncomingMessage): string | null {
  const { pathname, searchParams } = new URL(url, 'http://upstream')
  const [date, host] = [searchParams.get('date') ?? '', searchParams.get('host') ?? '']
  if (host !== headers.host) return 'HMAC signature cannot be verified: host'
  if (!/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(date)) {
    return 'HMAC signature cannot be verified, a valid date or x-date header is required'
  }
  const text = `host: ${host}\ndate: ${date}\nGET ${pathname} HTTP/1.1`
  const signature = createHmac('sha256', SPARK_ACCOUNT.secret).update(text).digest('base64')
  const expected =
    `api_key="${SPARK_ACCOUNT.key}", algorithm="hmac-sha256", ` +
    `headers="host date request-line", signature="${signature}"`
  const sent = Buffer.from(searchParams.get('authorization') ?? '', 'base64').toString()
  return sent === expected ? null : 'HMAC signature does not match'
}

const sparkError = (code: number, message: string): Json => ({
  header: { code, message, sid: 'cht-fixed', status: 2 },
})

/** Frames of the response to one request. */
export function sparkFrames(call: Call): Json[] {
  const { refusal } = call.directives
  if (refusal !== null) {
    return [sparkError(ERROR_CODES[refusal.status] ?? 10_012, `upstream says ${refusal.status}`)]
  }
  if (call.directives.trouble === 'error-200') return [sparkError(10_012, 'with a smile')]
  const problem = problemOf(call)
  if (problem !== null) return [sparkError(10_163, problem)]
  const { pieces, toolCalls, completionTokens } = produceNative(call, wishesOf(call.json))
  const [called] = toolCalls
  const texts: Json[] =
    called === undefined
      ? pieces.map((content) => ({ content }))
      : [{ content: '', content_type: 'text', function_call: called.function }]
  return texts.map((text, seq) => {
    const isLast = seq === texts.length - 1
    const status = isLast ? 2 : seq === 0 ? 0 : 1
    const choices = { status, seq, text: [{ role: 'assistant', index: 0, ...text }] }
    return {
      header: { code: 0, message: 'Success', sid: 'cht-fixed', status },
      payload: { choices, ...(isLast ? usageOf(call, completionTokens) : {}) },
    }
  })
}

export const sparkErrorInMiddle = (): Json =>
  sparkError(10_013, 'The upstream failed in the middle')

function usageOf({ directives }: Call, completion_tokens: number): Json {
  if (directives.usage === 'never') return {}
  const prompt_tokens = directives.promptTokens ?? PROMPT_TOKENS
  const total_tokens = prompt_tokens + completion_tokens
  const text = { question_tokens: 4, prompt_tokens, completion_tokens, total_tokens }
  return { usage: { text } }
}

const CHAT_MEMBERS = new Set('domain temperature top_k max_tokens auditing'.split(' '))

function problemOf({ json, path }: Call): string | null {
  const { header, parameter, payload, ...rest } = json
  if (Object.keys(rest).length > 0) return 'param validate error: unknown member'
  if (objectOf(header).app_id !== SPARK_ACCOUNT.appId) return 'app_id is wrong'
  const chat = objectOf(objectOf(parameter).chat)
  const stranger = Object.keys(chat).find((name) => !CHAT_MEMBERS.has(name))
  if (stranger !== undefined) return `'$.parameter.chat' unknown: ${stranger}`
  const domain = DOMAINS[path] ?? `general${path.split('/')[1]}`
  if (chat.domain !== domain) return `'$.parameter.chat.domain' must be ${domain}`
  const { temperature } = chat
  if (typeof temperature === 'number' && !(temperature > 0 && temperature <= 1)) {
    return "'$.parameter.chat.temperature' must be in (0, 1]"
  }
  const messages = listOf(objectOf(objectOf(payload).message).text).map(objectOf)
  if (messages.length === 0 || messages.some(({ content }) => !textOf(content))) {
    return "'$.payload.message.text' content must not be empty"
  }
  const isOld = ['lite', 'generalv2', 'generalv3', 'pro-128k'].includes(domain)
  if (isOld && messages.some(({ role }) => role === 'system')) return 'role system is not known'
  return null
}

function wishesOf(json: Json) {
  const payload = objectOf(json.payload)
  const last = objectOf(listOf(objectOf(payload.message).text).at(-1))
  return {
    tools: listOf(objectOf(payload.functions).text).map((sent) => {
      const { name, parameters } = objectOf(sent)
      return { name, parameters: isObject(parameters) ? parameters : {} }
    }),
    choice: null,
    // Function results are sent as user messages that begin with the function's name.
    lastWords: last.role === 'user' ? String(last.content).replace(/^\w+: /gm, '') : '',
    schema: null,
    wantsJson: false,
    maxTokens: objectOf(objectOf(json.parameter).chat).max_tokens,
    stops: [],
  }
}
