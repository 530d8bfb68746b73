import type { Token } from '../../contract/token-api.ts'
import { TOKEN_PREFIX } from '../../contract/token.ts'

/** What clients send. */
export const fullKey = (token: Token): string => TOKEN_PREFIX + token.key

/** Enough of a key to tell it from others. */
export const maskedKey = (token: Token): string =>
  `${TOKEN_PREFIX}${token.key.slice(0, 4)}…${token.key.slice(-4)}`

/** Environment of programs that use an OpenAI library. */
export const environmentText = (token: Token, base: string): string =>
  `OPENAI_API_KEY=${fullKey(token)}\nOPENAI_BASE_URL=${base}/v1\n`

/** A call to try a token with. */
export function curlText(token: Token, base: string): string {
  const model = token.models?.split(',')[0]?.trim() || 'gpt-4o-mini'
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })
  return [
    `curl ${base}/v1/chat/completions`,
    `  -H 'Authorization: Bearer ${fullKey(token)}'`,
    `  -H 'Content-Type: application/json'`,
    // In a shell, a quote inside quotes is written by leaving them.
    `  -d '${body.replaceAll("'", `'\\''`)}'`,
  ].join(' \\\n')
}

/** The same for a field of one line: a shell reads it as it reads the lines. */
export const oneLine = (text: string): string => text.trim().replaceAll(/(?: \\)?\n\s*/g, ' ')
