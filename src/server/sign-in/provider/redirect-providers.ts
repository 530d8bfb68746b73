import {
  isPreset,
  listedProvider,
  REDIRECTING_PROVIDERS,
  type ListedProvider,
  type RedirectingProvider,
} from '../../../contract/oauth.ts'
import {
  emptyProvider,
  shownAs,
  type SignInProvider,
} from '../../../contract/option/sign-in-providers.ts'
import type { App } from '../../app.ts'
import { readSignInProviders } from '../../option/sign-in-providers.ts'
import type { RedirectProvider } from './external-provider.ts'
import { createGithub } from './github.ts'
import { createLark } from './lark.ts'
import { createOidc } from './oidc.ts'
import { listedSettings, oidcOptions } from './oidc-settings.ts'
import { createPreset } from './preset.ts'

/** Returns the provider with a name; one that is not listed is closed. */
export type RedirectProviders = (name: RedirectingProvider) => RedirectProvider

export function createRedirectProviders(app: App): RedirectProviders {
  const { options, egress } = app
  const fixed = {
    github: createGithub(app, egress),
    lark: createLark(app, egress),
    oidc: createOidc(app, 'oidc', () => oidcOptions(options)),
  }
  // Each keeps its discovery document.
  const listed = new Map<ListedProvider, RedirectProvider>()
  return (name) => {
    if (isFixed(name)) return fixed[name]
    const kept = listed.get(name)
    if (kept !== undefined) return kept
    const settings = () => listedSettings(nameOf(name), listedOne(options, name) ?? NOT_LISTED)
    const created = isPreset(name)
      ? createPreset(egress, name, settings)
      : createOidc(app, name, settings)
    // Names come from requests, so only listed ones are kept.
    if (listedOne(options, name) !== null) listed.set(name, created)
    return created
  }
}

/** Returns the entry of a provider in the option; null if it is not listed. */
export const listedOne = (
  options: App['options'],
  provider: ListedProvider,
): SignInProvider | null =>
  readSignInProviders(options.text('SignInProviders')).get(nameOf(provider)) ?? null

const isFixed = (name: RedirectingProvider): name is (typeof REDIRECTING_PROVIDERS)[number] =>
  REDIRECTING_PROVIDERS.some((fixed) => fixed === name)

const NOT_LISTED: SignInProvider = { ...emptyProvider, enabled: false }

const nameOf = (provider: ListedProvider): string => provider.replace(/^oidc\//, '')

/** Public description of the enabled providers, in the order of the option. */
export const openProviders = (options: App['options']) =>
  Array.from(readSignInProviders(options.text('SignInProviders')))
    .filter(([, { enabled }]) => enabled)
    .map(([name, entry]) => ({ provider: listedProvider(name), ...shownAs(name, entry) }))
