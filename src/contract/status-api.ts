import { z } from 'zod'
import { get } from './endpoint.ts'

export const Status = z.object({
  version: z.string(),
  /** Seconds. */
  start_time: z.int(),
  email_verification: z.boolean(),
  github_oauth: z.boolean(),
  github_client_id: z.string(),
  lark_client_id: z.string(),
  system_name: z.string(),
  logo: z.string(),
  footer_html: z.string(),
  wechat_qrcode: z.string(),
  wechat_login: z.boolean(),
  server_address: z.string(),
  turnstile_check: z.boolean(),
  turnstile_site_key: z.string(),
  top_up_link: z.string(),
  chat_link: z.string(),
  /** Points that make one dollar. */
  quota_per_unit: z.number(),
  display_in_currency: z.boolean(),
  oidc: z.boolean(),
  oidc_client_id: z.string(),
  oidc_well_known: z.string(),
  oidc_authorization_endpoint: z.string(),
  oidc_token_endpoint: z.string(),
  oidc_userinfo_endpoint: z.string(),
  /** Absent on a One API server: how a console tells what it talks to. */
  gatehouse: z.object({
    /** Role that may read and change settings. */
    options_min_role: z.int(),
    features: z.array(z.string()),
    /** `default`, `berry` or `air`; as it was when the server started. */
    theme: z.string(),
    /** Where the widget of the human check is loaded from. */
    turnstile_url: z.string(),
  }),
})
export type Status = z.infer<typeof Status>

/**
 * Ratio maps in force as JSON texts, so that their decimals arrive as they are counted with. Names
 * are models, or `model(channel type)` for channels of one type alone.
 */
const Prices = z.object({
  model_ratio: z.string(),
  /** Of every model in `model_ratio`, also where its name alone decides. */
  completion_ratio: z.string(),
  /** Of the groups that the caller may choose; of all for administrators. */
  group_ratio: z.string(),
  cache_ratio: z.string(),
  create_cache_ratio: z.string(),
  /** Dollars a call, of models that have no other price. */
  model_price: z.string(),
  /** Models whose long prompts cost more. */
  tiered: z.array(z.string()),
  /** Ratio of models that are not listed; empty: they have no price. */
  default_model_ratio: z.string(),
})

export const statusApi = {
  status: get('/api/status', { access: 'anyone', data: Status, duringPasswordChange: true }),
  notice: get('/api/notice', { access: 'anyone', data: z.string(), duringPasswordChange: true }),
  about: get('/api/about', { access: 'anyone', data: z.string(), duringPasswordChange: true }),
  homePage: get('/api/home_page_content', {
    access: 'anyone',
    data: z.string(),
    duringPasswordChange: true,
  }),
  openapi: get('/api/openapi.json', {
    access: 'anyone',
    answer: 'raw',
    data: z.record(z.string(), z.unknown()),
    duringPasswordChange: true,
  }),
  prices: get('/api/prices', { access: 'user', data: Prices }),
  groups: get('/api/group/', { access: 'admin', data: z.array(z.string()) }),
  modelsByType: get('/api/models', {
    access: 'user',
    data: z.record(z.string(), z.array(z.string()).nullable()),
    summary: 'Models offered for each channel type, by its number.',
  }),
}
