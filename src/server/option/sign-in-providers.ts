import { isPreset } from '../../contract/oauth.ts'
import { presetProviders, type SignInProviders } from '../../contract/option/sign-in-providers.ts'
import type { OptionSpec } from './option-value.ts'
import { isProblem, parseSignInProviders } from './sign-in-provider-text.ts'

/** The option `SignInProviders`. Its secrets are inside, so it is shown without them. */
export const signInProviders = (row: { default: string }): OptionSpec => ({
  default: row.default,
  check(text) {
    const parsed = parseSignInProviders(text)
    return isProblem(parsed) ? parsed : null
  },
  completed: withKeptSecrets,
  shown: (text) => JSON.stringify(mapMembers(membersOf(text), () => ({ client_secret: '' }))),
})

/** Returns the providers of a stored text; none if it is invalid. */
export function readSignInProviders(text: string): SignInProviders {
  const parsed = parseSignInProviders(text)
  return isProblem(parsed) ? new Map() : parsed
}

/**
 * Fills in the stored secret where the new text lacks it. A secret is only kept for the host that
 * it was entered for. An invalid text is returned unchanged, to be rejected.
 */
function withKeptSecrets(text: string, before: string): string {
  const stored = membersOf(before)
  const given = membersOf(text)
  const isComplete = Object.values(given).every(({ client_secret: secret }) => isGiven(secret))
  if (isComplete) return text
  const kept = mapMembers(given, (name, provider) => {
    const known = stored[name]
    const isKept =
      !isGiven(provider['client_secret']) &&
      known !== undefined &&
      placeOf(name, known) === placeOf(name, provider)
    return isKept ? { client_secret: known['client_secret'] } : {}
  })
  return JSON.stringify(kept)
}

const isGiven = (secret: unknown): boolean => secret !== undefined && secret !== ''

type Provider = Readonly<Record<string, unknown>>

const isProvider = (value: unknown): value is Provider =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the providers of a text by name; none if it has another shape. */
function membersOf(text: string): Record<string, Provider> {
  try {
    const parsed: unknown = JSON.parse(text)
    if (!isProvider(parsed) || !Object.values(parsed).every(isProvider)) return {}
    // Every value has been checked.
    return { ...parsed } as Record<string, Provider>
  } catch {
    return {}
  }
}

const mapMembers = (
  providers: Record<string, Provider>,
  over: (name: string, provider: Provider) => Provider,
): Record<string, Provider> =>
  Object.fromEntries(
    Object.entries(providers).map(([name, provider]) => [
      name,
      { ...provider, ...over(name, provider) },
    ]),
  )

/** Origin to which the secret is sent. */
function placeOf(name: string, provider: Provider): string {
  const preset = isPreset(name) ? presetProviders[name].token_endpoint : ''
  const address = [provider['token_endpoint'], provider['issuer'], preset].find(isGiven)
  const text = typeof address === 'string' ? address : ''
  return URL.canParse(text) ? new URL(text).origin : text
}
