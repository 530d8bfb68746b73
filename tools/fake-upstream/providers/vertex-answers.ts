import { createVerify, generateKeyPairSync } from 'node:crypto'
import { errorAnswer, jsonAnswer, range, type Answer } from '../answer.ts'
import { chatAnswer } from '../chat-answers.ts'
import { countOf, listOf, objectOf, textOf, type Call, type Json } from '../call.ts'
import { anthropicAnswer } from '../dialects/anthropic-answers.ts'
import { anthropicErrorAnswer } from '../dialects/anthropic-checks.ts'
import { geminiAnswer, geminiErrorAnswer } from '../dialects/gemini-answers.ts'
import { cloudProblem } from '../dialects/claude-cloud-checks.ts'

const ACCESS_TOKEN = 'ya29.fake-access-token'
const EMAIL = 'gateway@our-project.iam.gserviceaccount.com'
const KEY_ID = '0123456789abcdef'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

let pair: { privateKey: string; publicKey: string } | null = null

/** Generated on first use, because it is slow. */
function keyPair(): { privateKey: string; publicKey: string } {
  pair ??= generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return pair
}

/** Credentials of a service account that this upstream accepts. */
export const vertexCredentials = (upstream: string): string =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'our-project',
    private_key_id: KEY_ID,
    private_key: keyPair().privateKey,
    client_email: EMAIL,
    token_uri: `${upstream}/vertex-token`,
  })

/** `POST /vertex-token`: exchanges a signed claim for an access token. */
export function vertexTokenAnswer(call: Call): Answer {
  const form = new URLSearchParams(call.bytes.toString())
  const problem = claimProblem(form)
  if (problem !== null) {
    return jsonAnswer({ error: 'invalid_grant', error_description: problem }, 400)
  }
  return jsonAnswer({ access_token: ACCESS_TOKEN, expires_in: 3599, token_type: 'Bearer' })
}

function claimProblem(form: URLSearchParams): string | null {
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
    return 'unsupported grant type'
  }
  const [header = '', claim = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  const verify = createVerify('RSA-SHA256').update(`${header}.${claim}`)
  if (!verify.verify(keyPair().publicKey, signature, 'base64url')) return 'Invalid JWT Signature.'
  const head = partOf(header)
  const claims = partOf(claim)
  if (head.alg !== 'RS256' || head.kid !== KEY_ID) return 'Invalid JWT header.'
  if (claims.iss !== EMAIL || claims.scope !== SCOPE) return 'Invalid JWT claims.'
  if (Number(claims.exp) - Number(claims.iat) !== 3600) return 'Invalid JWT: lifetime'
  return String(claims.aud).endsWith('/vertex-token') ? null : 'Invalid JWT audience.'
}

const partOf = (text: string): Json =>
  objectOf(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))

/** Error for an invalid token or location; null if both are valid. */
function accessProblem(call: Call): Answer | null {
  if (call.authorization !== `Bearer ${ACCESS_TOKEN}`) {
    return geminiErrorAnswer(401, 'Request had invalid authentication credentials.')
  }
  const isPlace = call.path.includes('/projects/our-project/locations/us-east5/')
  return isPlace ? null : geminiErrorAnswer(404, 'Publisher Model was not found')
}

/** `…/publishers/google/models/{m}:generateContent` and `:streamGenerateContent`. */
export function vertexGeminiAnswer(call: Call): Answer {
  const headers = { ...call.headers, 'x-goog-api-key': 'checked' }
  return accessProblem(call) ?? geminiAnswer({ ...call, headers })
}

/** `…/publishers/anthropic/models/{m}:rawPredict` and `:streamRawPredict`. */
export function vertexClaudeAnswer(call: Call): Answer {
  const problem = accessProblem(call)
  if (problem !== null) return problem
  const { anthropic_version: version, ...rest } = call.json
  const betas = String(call.headers['anthropic-beta'] ?? '')
  if (version !== 'vertex-2023-10-16') {
    return geminiErrorAnswer(400, 'anthropic_version: Field required')
  }
  if ('model' in rest) return geminiErrorAnswer(400, 'model: Extra inputs are not permitted')
  const cloudsOwn = cloudProblem({
    cloud: 'google',
    model: call.model,
    betas: betas === '' ? [] : betas.split(','),
    json: rest,
  })
  if (cloudsOwn !== null) return anthropicErrorAnswer(400, cloudsOwn)
  return anthropicAnswer({
    ...call,
    headers: {
      'x-api-key': 'checked',
      'anthropic-version': 'checked',
      ...(betas === '' ? {} : { 'anthropic-beta': betas }),
    },
    json: { ...rest, model: call.model },
  })
}

/** `…/endpoints/openapi/chat/completions`: models of other vendors. */
export const vertexSharedAnswer = (call: Call): Answer =>
  accessProblem(call) === null ? chatAnswer(call) : strangerAnswer()

const strangerAnswer = (): Answer =>
  errorAnswer(401, { message: 'not authenticated', type: 'unauthenticated', code: null })

/** `…/publishers/mistralai/models/{m}:rawPredict` and `:streamRawPredict`: usage is always sent. */
export function vertexMistralAnswer(call: Call): Answer {
  if (accessProblem(call) !== null) return strangerAnswer()
  const { directives, json, path } = call
  const isStream = path.endsWith(':streamRawPredict')
  const isNamed = path.includes(`/models/${String(json.model)}`)
  if (!isNamed || (json.stream === true) !== isStream || 'stream_options' in json) {
    return errorAnswer(422, { message: 'extra_forbidden', type: 'invalid_request', code: null })
  }
  const usage = directives.usage === 'when-asked' ? 'always' : directives.usage
  // Mistral's name for what OpenAI calls required.
  const chosen = json.tool_choice === 'any' ? { tool_choice: 'required' } : {}
  return chatAnswer({
    ...call,
    json: { ...json, ...chosen },
    directives: { ...directives, usage },
  })
}

const TOKENS_PER_TEXT = 3
const PICTURES_MAX = 4
const RATIOS = new Set(['1:1', '3:4', '4:3', '9:16', '16:9'])
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** `…/publishers/google/models/{m}:predict`: embeddings, and Imagen's images. */
export const vertexPredictAnswer = (call: Call): Answer =>
  accessProblem(call) ?? predictAnswer(call)

/** `…/models/imagen-…:predict`, which the Gemini API has too. */
export const imagenAnswer = (call: Call): Answer =>
  call.headers['x-goog-api-key'] === undefined
    ? geminiErrorAnswer(403, 'Method does not allow unregistered callers')
    : predictAnswer(call)

function predictAnswer(call: Call): Answer {
  const { instances, parameters, ...others } = call.json
  const [stranger] = Object.keys(others)
  if (stranger !== undefined) {
    return geminiErrorAnswer(400, `Invalid JSON payload received. Unknown name "${stranger}"`)
  }
  const given = listOf(instances).map(objectOf)
  return call.model.startsWith('imagen')
    ? picturesOf(call, given, objectOf(parameters))
    : vectorsOf(call, given)
}

function vectorsOf({ model, directives }: Call, instances: Json[]): Answer {
  if (instances.some(({ content }) => typeof content !== 'string')) {
    return geminiErrorAnswer(400, 'The text content is empty.')
  }
  if (model.startsWith('gemini-embedding') && instances.length > 1) {
    return geminiErrorAnswer(400, 'Only a single instance is supported.')
  }
  const statistics = {
    truncated: false,
    token_count: directives.promptTokens ?? TOKENS_PER_TEXT,
  }
  const predictions = instances.map(({ content }) => ({
    embeddings: {
      values: [0.5, -0.25, String(content).length],
      ...(directives.usage === 'never' ? {} : { statistics }),
    },
  }))
  return jsonAnswer({ predictions, metadata: { billableCharacterCount: 7 } })
}

function picturesOf({ model }: Call, [instance]: Json[], parameters: Json): Answer {
  if (textOf(instance?.prompt) === undefined) return geminiErrorAnswer(400, 'prompt is empty')
  const count = countOf(parameters.sampleCount) ?? 1
  if (count > PICTURES_MAX) return geminiErrorAnswer(400, 'sampleCount must be between 1 and 4')
  const { aspectRatio: ratio } = parameters
  if (ratio !== undefined && !RATIOS.has(String(ratio))) {
    return geminiErrorAnswer(400, 'aspectRatio is not supported')
  }
  if (model.includes('filtered')) {
    const raiFilteredReason = 'The prompt may go against the guidelines. Support codes: 42'
    return jsonAnswer({ predictions: [{ raiFilteredReason }] })
  }
  const picture = { bytesBase64Encoded: PIXEL, mimeType: 'image/png' }
  return jsonAnswer({ predictions: range(count).map(() => picture) })
}

/** `…/publishers/google/models/{m}:embedContent`: later models, one text. */
export function vertexContentAnswer(call: Call): Answer {
  const problem = accessProblem(call)
  if (problem !== null) return problem
  const [part] = listOf(objectOf(call.json.content).parts).map(objectOf)
  if (textOf(part?.text) === undefined) return geminiErrorAnswer(400, 'content is empty')
  return jsonAnswer({
    embedding: { values: [0.5, -0.25, String(part?.text).length] },
    usageMetadata: { promptTokenCount: TOKENS_PER_TEXT, totalTokenCount: TOKENS_PER_TEXT },
    truncated: false,
  })
}
