import type { Words } from '../channel-type-row.ts'

/** A form of the settings, which shows the options that name it as their `group`. */
interface OptionGroupRow {
  /** Page of the settings. */
  page: 'operation' | 'models' | 'system' | 'other'
  title: Words
  /** On the button that saves the form. */
  save: Words
}

/** Forms of the settings, in the order of their page. Each has its own save button. */
export const optionGroups = {
  general: {
    page: 'operation',
    title: { zh: '通用', en: 'General' },
    save: { zh: '保存通用设置', en: 'Save general settings' },
  },
  log: {
    page: 'operation',
    title: { zh: '日志', en: 'Logs' },
    save: { zh: '保存日志设置', en: 'Save log settings' },
  },
  audit: {
    page: 'operation',
    title: { zh: '审计', en: 'Audit' },
    save: { zh: '保存审计设置', en: 'Save audit settings' },
  },
  monitor: {
    page: 'operation',
    title: { zh: '监控', en: 'Monitoring' },
    save: { zh: '保存监控设置', en: 'Save monitoring settings' },
  },
  quota: {
    page: 'operation',
    title: { zh: '额度', en: 'Quota' },
    save: { zh: '保存额度设置', en: 'Save quota settings' },
  },
  ratio: {
    page: 'operation',
    title: { zh: '倍率', en: 'Ratios' },
    save: { zh: '保存倍率设置', en: 'Save ratios' },
  },
  price: {
    page: 'operation',
    title: { zh: '其他计价', en: 'Other prices' },
    save: { zh: '保存其他计价', en: 'Save other prices' },
  },
  'model-capabilities': {
    page: 'models',
    title: { zh: '自定义模型能力', en: 'Your own model capabilities' },
    save: { zh: '保存模型能力', en: 'Save model capabilities' },
  },
  server: {
    page: 'system',
    title: { zh: '服务器', en: 'Server' },
    save: { zh: '更新服务器地址', en: 'Save server address' },
  },
  'sign-in': {
    page: 'system',
    title: { zh: '登录与注册', en: 'Sign-in and registration' },
    save: { zh: '保存登录与注册设置', en: 'Save sign-in settings' },
  },
  'email-domain': {
    page: 'system',
    title: { zh: '邮箱域名白名单', en: 'Email domain allow-list' },
    save: { zh: '保存邮箱域名白名单', en: 'Save allow-list' },
  },
  smtp: {
    page: 'system',
    title: { zh: 'SMTP', en: 'SMTP' },
    save: { zh: '保存 SMTP 设置', en: 'Save SMTP settings' },
  },
  github: {
    page: 'system',
    title: { zh: 'GitHub OAuth', en: 'GitHub OAuth' },
    save: { zh: '保存 GitHub OAuth 设置', en: 'Save GitHub OAuth settings' },
  },
  lark: {
    page: 'system',
    title: { zh: '飞书 OAuth', en: 'Lark OAuth' },
    save: { zh: '保存飞书 OAuth 设置', en: 'Save Lark OAuth settings' },
  },
  wechat: {
    page: 'system',
    title: { zh: '微信服务器', en: 'WeChat server' },
    save: { zh: '保存微信服务器设置', en: 'Save WeChat settings' },
  },
  oidc: {
    page: 'system',
    title: { zh: 'OIDC', en: 'OIDC' },
    save: { zh: '保存 OIDC 设置', en: 'Save OIDC settings' },
  },
  'sign-in-providers': {
    page: 'system',
    title: { zh: '更多登录服务', en: 'More sign-in providers' },
    save: { zh: '保存登录服务', en: 'Save sign-in providers' },
  },
  pusher: {
    page: 'system',
    title: { zh: '消息推送', en: 'Message pusher' },
    save: { zh: '保存消息推送设置', en: 'Save message pusher' },
  },
  turnstile: {
    page: 'system',
    title: { zh: 'Turnstile', en: 'Turnstile' },
    save: { zh: '保存 Turnstile 设置', en: 'Save Turnstile settings' },
  },
  notice: {
    page: 'other',
    title: { zh: '公告', en: 'Notice' },
    save: { zh: '保存公告', en: 'Save notice' },
  },
  look: {
    page: 'other',
    title: { zh: '个性化', en: 'Branding' },
    save: { zh: '保存个性化设置', en: 'Save branding' },
  },
  home: {
    page: 'other',
    title: { zh: '首页', en: 'Home' },
    save: { zh: '保存首页内容', en: 'Save home page' },
  },
  about: {
    page: 'other',
    title: { zh: '关于', en: 'About' },
    save: { zh: '保存关于', en: 'Save about page' },
  },
  footer: {
    page: 'other',
    title: { zh: '页脚', en: 'Footer' },
    save: { zh: '保存页脚', en: 'Save footer' },
  },
} as const satisfies Readonly<Record<string, OptionGroupRow>>

export type OptionGroupId = keyof typeof optionGroups

/** In the order of their page. */
export const optionGroupIds: readonly OptionGroupId[] = Object.keys(optionGroups).filter(
  (id): id is OptionGroupId => Object.hasOwn(optionGroups, id),
)
