import { createHash } from 'node:crypto'
import { jsonAnswer, range, type Answer } from './answer.ts'
import { countOf, textOf, type Call } from './call.ts'

const CREATED_SECONDS = 1_700_000_000
const RECORDED_VECTOR = [0.25, -0.5, 0.125]
const EMBEDDING_DIMENSIONS = 8
const TOKENS_PER_EMBEDDED_INPUT = 6

/**
 * `POST …/embeddings`. A model whose name contains "embed" returns one vector per input, at six
 * prompt tokens each; every other model returns the one recorded vector, at six tokens in total.
 */
export function embeddingsAnswer(call: Call): Answer {
  const inputs = /embed/i.test(call.model) ? inputsOf(call.json.input) : [null]
  const dimensions = countOf(call.json.dimensions) ?? EMBEDDING_DIMENSIONS
  const vectors = inputs.map((input) =>
    input === null ? RECORDED_VECTOR : vectorOf(input, dimensions),
  )
  const isBase64 = call.json.encoding_format === 'base64'
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: isBase64 ? base64Of(vector) : vector,
  }))
  const tokens = call.directives.promptTokens ?? TOKENS_PER_EMBEDDED_INPUT * inputs.length
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return jsonAnswer({ object: 'list', model: call.model, data, usage })
}

/**
 * One text per input: a string, a list of strings, a list of token ids, or a list of such lists.
 */
function inputsOf(input: unknown): string[] {
  if (!Array.isArray(input)) return [String(input)]
  if (input.every((part) => typeof part === 'number')) return [JSON.stringify(input)]
  return input.map((part) => textOf(part) ?? JSON.stringify(part))
}

/** Numbers from -1 to 1 that depend only on the text and survive conversion to 32 bits. */
export function vectorOf(text: string, dimensions: number): number[] {
  return range(dimensions).map((index) => {
    const hash = createHash('sha256').update(`${index} ${text}`).digest()
    return hash.readInt16LE(0) / 32_768
  })
}

function base64Of(vector: number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64')
}

/** `POST …/moderations`: flags an input with "violence". */
export function moderationsAnswer(call: Call): Answer {
  const inputs = Array.isArray(call.json.input) ? call.json.input : [call.json.input]
  const results = inputs.map((input) => {
    const flagged = /violence/i.test(JSON.stringify(input ?? ''))
    return {
      flagged,
      categories: { hate: flagged },
      category_scores: { hate: flagged ? 0.9 : 0.001 },
    }
  })
  return jsonAnswer({ id: 'modr-fixed', model: call.model, results })
}

/** `GET …/models` and `GET …/models/<id>`. */
export function modelsAnswer(id: string | null): Answer {
  if (id === null)
    return jsonAnswer({ object: 'list', data: [{ id: 'gpt-4o-mini', object: 'model' }] })
  return jsonAnswer({ id, object: 'model', created: CREATED_SECONDS, owned_by: 'fake-upstream' })
}

/** Balance endpoints of the providers that have one; null for other paths. */
export function balanceAnswer(call: Call): Answer | null {
  const has = (part: string) => call.path.includes(part)
  if (has('/billing/subscription')) {
    return jsonAnswer({
      object: 'billing_subscription',
      has_payment_method: true,
      soft_limit_usd: 10,
      hard_limit_usd: 20,
      system_hard_limit_usd: 20,
      access_until: 0,
    })
  }
  if (has('/billing/usage')) return jsonAnswer({ object: 'list', total_usage: 450 })
  if (has('/user/balance')) {
    const info = {
      currency: 'CNY',
      total_balance: '12.50',
      granted_balance: '0.00',
      topped_up_balance: '12.50',
    }
    return jsonAnswer({ is_available: true, balance_infos: [info] })
  }
  if (has('/user/info')) {
    const data = { id: 'u', name: 'n', balance: '3.5', totalBalance: '8.25', chargeBalance: '4.75' }
    return jsonAnswer({ code: 20_000, message: 'OK', status: true, data })
  }
  if (has('/billing/credit_grants')) {
    return jsonAnswer({ object: 'credit_summary', total_available: 6.5, total_remaining: 6.5 })
  }
  if (call.path.endsWith('/credits')) {
    return jsonAnswer({ data: { total_credits: 100.5, total_usage: 25.75 } })
  }
  if (has('/users/me/balance')) {
    const data = { available_balance: 49.58, voucher_balance: 46.58, cash_balance: 3 }
    return jsonAnswer({ code: 0, data, scode: '0x0', status: true })
  }
  return null
}

/** The helper servers of the sign-in flows: WeChat and OpenID Connect. */
export function signInAnswer(call: Call): Answer | null {
  switch (call.path) {
    case '/api/wechat/user': {
      if (call.authorization !== 'wechat-secret') {
        return jsonAnswer({ success: false, message: 'bad token', data: '' })
      }
      const code = call.query.get('code') ?? ''
      return jsonAnswer(
        code.startsWith('good')
          ? { success: true, message: '', data: `wx_${code}` }
          : { success: false, message: '验证码错误', data: '' },
      )
    }
    case '/oidc/token':
      return jsonAnswer({
        access_token: 'at',
        id_token: 'x',
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'openid',
      })
    case '/oidc/userinfo':
      return jsonAnswer({
        sub: 'oidc-1',
        sid: 's',
        email: 'oidc@example.com',
        preferred_username: 'oidcuser',
        name: 'Oidc User',
      })
    default:
      return null
  }
}
