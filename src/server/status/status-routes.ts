import { FEATURES } from '../../contract/features.ts'
import { statusApi } from '../../contract/status-api.ts'
import { namedLanguage, type Language } from '../../contract/errors.ts'
import { groupNames, isAdmin } from '../../contract/user.ts'
import type { App } from '../app.ts'
import { defaultModelsByType } from '../channel/default-models.ts'
import { openApiDocument } from '../http/openapi/openapi.ts'
import { serve, type Route } from '../http/handler.ts'
import { hasManual } from '../http/manual-files.ts'
import { ratioMapJson } from '../option/default-ratios.ts'
import { listedOne, openProviders } from '../sign-in/provider/redirect-providers.ts'
import { mayUseGroup } from '../token/token-group.ts'
import { createPriceTexts } from './price-texts.ts'

const registrationOf = (options: App['options']): 'open' | 'external' | 'closed' => {
  if (!options.flag('RegisterEnabled')) return 'closed'
  return options.flag('PasswordRegisterEnabled') ? 'open' : 'external'
}

/** Routes with public information about the installation. */
export function statusRoutes({
  options,
  config,
  version,
  startSeconds,
  manualFolder,
}: App): Route[] {
  // As in One API, a changed theme applies after the next start.
  const theme = options.text('Theme')
  const prices = createPriceTexts()
  const about = { version, basePath: config.BASE_PATH }
  const descriptions: Partial<Record<Language, ReturnType<typeof openApiDocument>>> = {}
  return [
    serve(statusApi.status, () => ({
      data: {
        version,
        start_time: startSeconds,
        email_verification: options.flag('EmailVerificationEnabled'),
        github_oauth: options.flag('GitHubOAuthEnabled'),
        github_client_id: options.text('GitHubClientId'),
        lark_client_id: options.text('LarkClientId'),
        system_name: options.text('SystemName'),
        logo: options.text('Logo'),
        footer_html: options.text('Footer'),
        wechat_qrcode: options.text('WeChatAccountQRCodeImageURL'),
        wechat_login: options.flag('WeChatAuthEnabled'),
        server_address: options.text('ServerAddress'),
        turnstile_check: options.flag('TurnstileCheckEnabled'),
        turnstile_site_key: options.text('TurnstileSiteKey'),
        top_up_link: options.text('TopUpLink'),
        chat_link: options.text('ChatLink'),
        quota_per_unit: options.number('QuotaPerUnit'),
        display_in_currency: options.flag('DisplayInCurrencyEnabled'),
        oidc: options.flag('OidcEnabled'),
        oidc_client_id: options.text('OidcClientId'),
        oidc_well_known: options.text('OidcWellKnown'),
        oidc_authorization_endpoint: options.text('OidcAuthorizationEndpoint'),
        oidc_token_endpoint: options.text('OidcTokenEndpoint'),
        oidc_userinfo_endpoint: options.text('OidcUserinfoEndpoint'),
        linuxdo_oauth: listedOne(options, 'linuxdo')?.enabled === true,
        linuxdo_client_id: listedOne(options, 'linuxdo')?.client_id ?? '',
        discord_oauth: listedOne(options, 'discord')?.enabled === true,
        discord_client_id: listedOne(options, 'discord')?.client_id ?? '',
        gatehouse: {
          options_min_role: config.OPTIONS_MIN_ROLE,
          features: [...FEATURES],
          theme,
          registration: registrationOf(options),
          sign_in_providers: openProviders(options),
          turnstile_url: config.TURNSTILE_BASE_URL,
          manual: hasManual(manualFolder),
        },
      },
    })),
    serve(statusApi.notice, () => ({ data: options.text('Notice') })),
    serve(statusApi.about, () => ({ data: options.text('About') })),
    serve(statusApi.homePage, () => ({ data: options.text('HomePageContent') })),
    serve(statusApi.openapi, ({ request, reply }) => {
      // English unless a browser asks for Chinese: generators of clients name no language.
      const language = namedLanguage(request.headers['accept-language']) ?? 'en'
      reply.header('Vary', 'Accept-Language')
      return { data: (descriptions[language] ??= openApiDocument({ ...about, language })) }
    }),
    serve(statusApi.prices, ({ actor: { role, user } }) => {
      const ratios = options.ratios()
      const isSeen = (group: string): boolean =>
        isAdmin(role) || mayUseGroup(options, groupNames(user.group), group)
      const groups = new Map([...ratios.group].filter(([group]) => isSeen(group)))
      return { data: { ...prices(ratios), group_ratio: ratioMapJson(groups) } }
    }),
    serve(statusApi.groups, () => ({ data: [...options.ratios().group.keys()].toSorted() })),
    serve(statusApi.modelsByType, () => ({
      data: Object.fromEntries(
        Object.entries(defaultModelsByType()).map(([type, models]) => [
          type,
          models === null ? null : [...models],
        ]),
      ),
    })),
  ]
}
