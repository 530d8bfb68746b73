import { z } from 'zod'
import { get } from './endpoint.ts'

const ratioMap = (description: string, example: string) =>
  z.string().meta({ description: `${description} A JSON object as text.`, example })
const word = (description: string) => z.string().meta({ description, example: '' })
const address = (description: string) => word(`${description}; empty: there is none.`)

export const Status = z
  .object({
    version: z.string().describe('Version of the server.'),
    start_time: z.int().describe('When it started, in seconds.'),
    email_verification: z.boolean().describe('Registering needs a code that is mailed.'),
    github_oauth: z.boolean().describe('People may sign in through GitHub.'),
    github_client_id: word('Client id at GitHub.'),
    lark_client_id: word('Client id at Lark; with one, people may sign in there.'),
    system_name: z.string().describe('What the installation calls itself.'),
    logo: address('Address of its logo'),
    footer_html: word('What stands at the foot of its pages, as HTML.'),
    wechat_qrcode: address('Address of the QR code of its WeChat account'),
    wechat_login: z.boolean().describe('People may sign in through WeChat.'),
    server_address: z.string().describe('Where it is reached from outside.'),
    turnstile_check: z.boolean().describe('A human check stands before registering and mail.'),
    turnstile_site_key: word('Site key of the human check.'),
    top_up_link: address('Where people buy quota'),
    chat_link: address('Where people chat'),
    quota_per_unit: z.number().describe('Points that make one dollar.'),
    display_in_currency: z.boolean().describe('Quota is shown in dollars.'),
    oidc: z.boolean().describe('People may sign in through an OpenID Connect provider.'),
    oidc_client_id: word('Client id at that provider.'),
    oidc_well_known: address('Its discovery document'),
    oidc_authorization_endpoint: address('Where it signs people in'),
    oidc_token_endpoint: address('Where it gives tokens'),
    oidc_userinfo_endpoint: address('Where it tells who signed in'),
    gatehouse: z
      .object({
        options_min_role: z
          .int()
          .meta({ description: 'Role that may read and change settings.', example: 10 }),
        features: z
          .array(z.string())
          .meta({ description: 'What it has beyond One API.', example: ['prices', 'limits'] }),
        theme: z.string().meta({
          description: '`default`, `berry` or `air`; as it was when the server started.',
          example: 'default',
        }),
        registration: z.enum(['open', 'external', 'closed']).optional().meta({
          description:
            'Who may register: anybody, those who come through another provider, or nobody.',
          example: 'open',
        }),
        turnstile_url: z.string().meta({
          description: 'Where the widget of the human check is loaded from.',
          example: 'https://challenges.cloudflare.com',
        }),
      })
      .describe('Absent on a One API server: how a console tells what it talks to.'),
  })
  .meta({ id: 'Status', description: 'What visitors may know of the installation.' })
export type Status = z.infer<typeof Status>

const Prices = z
  .object({
    model_ratio: ratioMap(
      'Model → ratio of prompt tokens; 1 is two dollars a million.',
      '{"gpt-4o-mini":0.075}',
    ),
    completion_ratio: ratioMap(
      'Model → ratio of completion tokens against prompt tokens; of every model in `model_ratio`, also where its name alone decides.',
      '{"gpt-4o-mini":4}',
    ),
    group_ratio: ratioMap(
      'Group → ratio; of the groups that the caller may choose, for administrators of all.',
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
      'Model → dollars a call, of models that have no other price.',
      '{"mj_imagine":0.1}',
    ),
    tiered: z.array(z.string()).meta({
      description: 'Models whose long prompts cost more.',
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
      'Ratios in force as JSON texts, so that their decimals arrive as they are counted with. Names are models, or `model(channel type)` for channels of one type alone.',
  })

export const statusApi = {
  status: get('/api/status', {
    name: 'getStatus',
    summary: 'What visitors may know of the installation.',
    access: 'anyone',
    data: Status,
    duringPasswordChange: true,
  }),
  notice: get('/api/notice', {
    name: 'getNotice',
    summary: 'The notice shown to everybody: Markdown, HTML or an `https:` address; or empty.',
    access: 'anyone',
    data: z.string().meta({ example: '今晚 23:00 维护十分钟' }),
    duringPasswordChange: true,
  }),
  about: get('/api/about', {
    name: 'getAbout',
    summary: 'What the installation says of itself: Markdown, HTML or an `https:` address.',
    access: 'anyone',
    data: z.string().meta({ example: '# 关于本站' }),
    duringPasswordChange: true,
  }),
  homePage: get('/api/home_page_content', {
    name: 'getHomePage',
    summary: 'What the home page shows: Markdown, HTML or an `https:` address; or empty.',
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
    summary: 'The prices of models and groups.',
    access: 'user',
    data: Prices,
  }),
  groups: get('/api/group/', {
    name: 'listGroups',
    summary: 'The names of all groups.',
    access: 'admin',
    data: z.array(z.string()).meta({ example: ['default', 'vip'] }),
  }),
  modelsByType: get('/api/models', {
    name: 'listModelsByType',
    summary: 'Models offered for each channel type, by its number; null where models mean nothing.',
    access: 'user',
    data: z
      .record(z.string(), z.array(z.string()).nullable())
      .meta({ example: { '1': ['gpt-4o-mini', 'gpt-4o'] } }),
  }),
}
