import type { Token } from '../../contract/token-api.ts'
import { TOKEN_PREFIX } from '../../contract/token.ts'

/** The key as clients send it. */
export const fullKey = (token: Token): string => TOKEN_PREFIX + token.key

/** Enough of a key to distinguish it from others. */
export const maskedKey = (token: Token): string =>
  `${TOKEN_PREFIX}${token.key.slice(0, 4)}…${token.key.slice(-4)}`

/** A key as the server returns it if only its hash is stored. */
export const hiddenKey = (key: string): string => `${key.slice(0, 4)}****${key.slice(-4)}`

/** Environment variables of OpenAI libraries. */
export const environmentText = (token: Token, base: string): string =>
  `OPENAI_API_KEY=${fullKey(token)}\nOPENAI_BASE_URL=${base}/v1\n`

/** A curl command that tests a token. */
export function curlText(token: Token, base: string): string {
  const model = token.models?.split(',')[0]?.trim() || 'gpt-4o-mini'
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })
  return [
    `curl ${base}/v1/chat/completions`,
    `  -H 'Authorization: Bearer ${fullKey(token)}'`,
    `  -H 'Content-Type: application/json'`,
    // In a shell, a single quote within single quotes is written outside them.
    `  -d '${body.replaceAll("'", `'\\''`)}'`,
  ].join(' \\\n')
}

/** Joins the lines of a command for a single-line field; a shell reads it the same way. */
export const oneLine = (text: string): string => text.trim().replaceAll(/(?: \\)?\n\s*/g, ' ')
