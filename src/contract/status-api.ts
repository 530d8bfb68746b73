import { z } from 'zod'
import { get } from './endpoint.ts'
import { PRESET_PROVIDERS } from './oauth.ts'

const ratioMap = (description: string, example: string) =>
  z.string().meta({ description: `${description} A JSON object as a string.`, example })
const word = (description: string) => z.string().meta({ description, example: '' })
const address = (description: string) => word(`${description}; empty if not set.`)

const ListedProvider = z.union([z.enum(PRESET_PROVIDERS), z.templateLiteral(['oidc/', z.string()])])

export const Status = z
  .object({
    version: z.string().describe('Version of the server.'),
    start_time: z.int().describe('Start time of the server, in epoch seconds.'),
    email_verification: z.boolean().describe('Whether registration requires a code sent by email.'),
    github_oauth: z.boolean().describe('Whether sign-in with GitHub is enabled.'),
    github_client_id: word('Client id at GitHub.'),
    lark_client_id: word('Client id at Lark; if set, sign-in with Lark is enabled.'),
    system_name: z.string().describe('Name of the installation.'),
    logo: address('Address of the logo'),
    footer_html: word('Footer of the pages, as HTML.'),
    wechat_qrcode: address('Address of the QR code of the WeChat account'),
    wechat_login: z.boolean().describe('Whether sign-in with WeChat is enabled.'),
    server_address: z.string().describe('Public address of the server.'),
    turnstile_check: z.boolean().describe('Whether registration and emails require a human check.'),
    turnstile_site_key: word('Site key of the human check.'),
    top_up_link: address('Address for buying quota'),
    chat_link: address('Address of the chat application'),
    quota_per_unit: z.number().describe('Points per dollar.'),
    display_in_currency: z.boolean().describe('Whether quota is displayed in dollars.'),
    oidc: z.boolean().describe('Whether sign-in with OpenID Connect is enabled.'),
    oidc_client_id: word('Client id at the OpenID Connect provider.'),
    oidc_well_known: address('Discovery document of the OpenID Connect provider'),
    oidc_authorization_endpoint: address('Authorization endpoint of the OpenID Connect provider'),
    oidc_token_endpoint: address('Token endpoint of the OpenID Connect provider'),
    oidc_userinfo_endpoint: address('Userinfo endpoint of the OpenID Connect provider'),
    linuxdo_oauth: z.boolean().describe('Whether sign-in with LinuxDO is enabled.'),
    linuxdo_client_id: word('Client id at LinuxDO.'),
    discord_oauth: z.boolean().describe('Whether sign-in with Discord is enabled.'),
    discord_client_id: word('Client id at Discord.'),
    gatehouse: z
      .object({
        options_min_role: z
          .int()
          .meta({ description: 'Minimum role for reading and changing settings.', example: 10 }),
        features: z
          .array(z.string())
          .meta({ description: 'Features beyond One API.', example: ['prices', 'limits'] }),
        theme: z.string().meta({
          description: '`default`, `berry` or `air`; applies after a restart.',
          example: 'default',
        }),
        registration: z.enum(['open', 'external', 'closed']).optional().meta({
          description:
            'Registration: open to everyone, only through external providers, or closed.',
          example: 'open',
        }),
        sign_in_providers: z
          .array(
            z.object({
              provider: ListedProvider.meta({
                description: 'Name in the paths of sign-in.',
                example: 'oidc/corp',
              }),
              title: z.string().meta({ description: 'Displayed name.', example: 'Corp' }),
              icon: z.string().meta({ description: 'Icon: one or two characters.', example: 'C' }),
              color: z
                .string()
                .meta({ description: 'Name of a colour, or empty.', example: 'blue' }),
            }),
          )
          .optional()
          .describe('Enabled providers of the setting `SignInProviders`.'),
        turnstile_url: z.string().meta({
          description: 'Base address of the human check’s widget.',
          example: 'https://challenges.cloudflare.com',
        }),
        manual: z.boolean().optional().meta({
          description:
            'Whether the manual is served at `/docs/` and the API reference at `/api/docs`.',
          example: true,
        }),
      })
      .describe('Information beyond One API; absent on a One API server.'),
  })
  .meta({ id: 'Status', description: 'Public information about the installation.' })
export type Status = z.infer<typeof Status>

const Prices = z
  .object({
    model_ratio: ratioMap(
      'Model → ratio of prompt tokens; 1 is two dollars per million.',
      '{"gpt-4o-mini":0.075}',
    ),
    completion_ratio: ratioMap(
      'Model → ratio of completion tokens to prompt tokens; for every model in `model_ratio`, including inferred ones.',
      '{"gpt-4o-mini":4}',
    ),
    group_ratio: ratioMap(
      'Group → ratio; for the groups that the caller can choose, for administrators all.',
      '{"default":1,"vip":0.8}',
    ),
    cache_ratio: ratioMap(
      'Model → ratio of prompt tokens read from a cache.',
      '{"gpt-4o-mini":0.5}',
    ),
    create_cache_ratio: ratioMap(
      'Model → ratio of prompt tokens written to a cache.',
      '{"claude-sonnet-4":1.25}',
    ),
    model_price: ratioMap(
      'Model → dollars per call, for models priced per call.',
      '{"mj_imagine":0.1}',
    ),
    tiered: z.array(z.string()).meta({
      description: 'Models with higher prices for long prompts.',
      example: ['gemini-2.5-pro'],
    }),
    default_model_ratio: z.string().meta({
      description: 'Ratio of models that are not listed; empty: they have no price.',
      example: '',
    }),
  })
  .meta({
    id: 'Prices',
    description:
      'Current ratios as JSON strings, so that decimals stay exact. Names are models, or `model(channel type)` for channels of one type only.',
  })

export const statusApi = {
  status: get('/api/status', {
    name: 'getStatus',
    summary: 'Public information about the installation.',
    access: 'anyone',
    data: Status,
    duringPasswordChange: true,
  }),
  notice: get('/api/notice', {
    name: 'getNotice',
    summary: 'The notice for all visitors: Markdown, HTML or an `https:` address; or empty.',
    access: 'anyone',
    data: z.string().meta({ example: '今晚 23:00 维护十分钟' }),
    duringPasswordChange: true,
  }),
  about: get('/api/about', {
    name: 'getAbout',
    summary: 'The about page: Markdown, HTML or an `https:` address.',
    access: 'anyone',
    data: z.string().meta({ example: '# 关于本站' }),
    duringPasswordChange: true,
  }),
  homePage: get('/api/home_page_content', {
    name: 'getHomePage',
    summary: 'The home page: Markdown, HTML or an `https:` address; or empty.',
    access: 'anyone',
    data: z.string().meta({ example: '# 欢迎' }),
    duringPasswordChange: true,
  }),
  openapi: get('/api/openapi.json', {
    name: 'getApiDescription',
    summary: 'This description.',
    access: 'anyone',
    answer: 'raw',
    data: z.record(z.string(), z.unknown()).meta({ example: { openapi: '3.1.0' } }),
    duringPasswordChange: true,
  }),
  prices: get('/api/prices', {
    name: 'getPrices',
    summary: 'Prices of models and groups.',
    access: 'user',
    data: Prices,
  }),
  groups: get('/api/group/', {
    name: 'listGroups',
    summary: 'Names of all groups.',
    access: 'admin',
    scope: 'channels',
    data: z.array(z.string()).meta({ example: ['default', 'vip'] }),
  }),
  modelsByType: get('/api/models', {
    name: 'listModelsByType',
    summary: 'Default models of each channel type, by its number; null if the type has no models.',
    access: 'user',
    scope: 'channels',
    data: z
      .record(z.string(), z.array(z.string()).nullable())
      .meta({ example: { '1': ['gpt-4o-mini', 'gpt-4o'] } }),
  }),
}
