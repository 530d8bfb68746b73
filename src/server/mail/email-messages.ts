import type { Language } from '../../contract/errors.ts'
import type { EmailMessage } from './mail.ts'

/** Texts of an email in one language, without markup. */
interface Words {
  subject: string
  /** Paragraphs before the main element. */
  lead: string[]
  /** Paragraphs after it, in smaller type. */
  notes: string[]
}

/** Main element between lead and notes. */
type Centre =
  | { kind: 'none' }
  /** Shown large, for typing. */
  | { kind: 'code'; code: string }
  | { kind: 'link'; url: string; label: Record<Language, string> }

interface EmailPlan {
  systemName: string
  /** The reader's language; both, Chinese first, if it is unknown. */
  languages: readonly Language[]
  words: Record<Language, Words>
  centre: Centre
}

const CODE_MINUTES = 10

/** Email with a code to register or to bind an address. */
export const codeEmail = (
  systemName: string,
  language: Language,
  { code }: { code: string },
): EmailMessage =>
  emailMessage({
    systemName,
    languages: [language],
    centre: { kind: 'code', code },
    words: {
      zh: {
        subject: `${systemName} 邮箱验证码`,
        lead: ['您好！您正在验证邮箱地址，验证码是：'],
        notes: [
          `验证码 ${CODE_MINUTES} 分钟内有效，只能使用一次。`,
          '如果不是您本人操作，请忽略本邮件。',
        ],
      },
      en: {
        subject: `${systemName}: verify your email address`,
        lead: ['Hello! This code verifies your email address:'],
        notes: [
          `It is valid for ${CODE_MINUTES} minutes and works once.`,
          'If you did not ask for it, ignore this email.',
        ],
      },
    },
  })

/** Email sent instead of a code if the address belongs to an account; only its owner sees it. */
export const addressInUseEmail = (
  systemName: string,
  language: Language,
  { url }: { url: string },
): EmailMessage =>
  emailMessage({
    systemName,
    languages: [language],
    centre: { kind: 'link', url, label: { zh: '找回密码', en: 'Get a new password' } },
    words: {
      zh: {
        subject: `${systemName} 邮箱已被使用`,
        lead: ['您好！有人请求验证这个邮箱地址，但它已属于一个账户，因此没有发送验证码。'],
        notes: [
          '如果是您本人操作，请直接登录；忘记密码时可以通过上面的链接找回。',
          '如果不是您本人操作，请忽略本邮件。',
        ],
      },
      en: {
        subject: `${systemName}: this address is in use`,
        lead: [
          'Hello! Somebody asked to verify this address. It already belongs to an account, so no code was sent.',
        ],
        notes: [
          'If it was you, sign in; if you have forgotten your password, follow the link above.',
          'If it was not you, ignore this email.',
        ],
      },
    },
  })

/** Email with a link to set a new password. */
export const resetEmail = (
  systemName: string,
  language: Language,
  { url, username }: { url: string; username: string },
): EmailMessage =>
  emailMessage({
    systemName,
    languages: [language],
    centre: { kind: 'link', url, label: { zh: '重置密码', en: 'Reset the password' } },
    words: {
      zh: {
        subject: `${systemName} 密码重置`,
        lead: [`您好，${username}！您正在重置密码，请打开下面的链接：`],
        notes: [
          `链接 ${CODE_MINUTES} 分钟内有效，只能使用一次。新密码会显示在打开的页面上。`,
          '如果不是您本人操作，请忽略本邮件，密码不会改变。',
        ],
      },
      en: {
        subject: `${systemName}: reset your password`,
        lead: [`Hello ${username}! To get a new password, open this link:`],
        notes: [
          `It is valid for ${CODE_MINUTES} minutes and works once. The page shows the new password.`,
          'If you did not ask for it, ignore this email: your password stays as it is.',
        ],
      },
    },
  })

/** Email about a sign-in with a new browser or system. `language` is null if unknown. */
export function signInEmail(
  systemName: string,
  language: Language | null,
  signIn: { username: string; device: string; address: string; time: string; url: string },
): EmailMessage {
  const { username, device, address, time, url } = signIn
  return emailMessage({
    systemName,
    languages: language === null ? ['zh', 'en'] : [language],
    centre: { kind: 'link', url, label: { zh: '查看登录设备', en: 'Show the sessions' } },
    words: {
      zh: {
        subject: `${systemName} 新设备登录提醒`,
        lead: [
          `您好，${username}！您的账户刚在一台新设备上登录：${device || '未知设备'}，地址 ${address}，时间 ${time}。`,
        ],
        notes: ['如果是您本人操作，无需处理。', '如果不是，请立即修改密码，并退出其他全部登录。'],
      },
      en: {
        subject: `${systemName}: sign-in from a new device`,
        lead: [
          `Hello ${username}! Your account was signed in to from a new device: ${device || 'unknown'}, address ${address}, at ${time}.`,
        ],
        notes: [
          'If it was you, there is nothing to do.',
          'If it was not, change your password now and sign out everywhere else.',
        ],
      },
    },
  })
}

/** Email for a balance that has fallen below the threshold or is used up. */
export function quotaEmail(
  systemName: string,
  reminder: { username: string; isExhausted: boolean; quota: string; url: string },
): EmailMessage {
  const { username, isExhausted, quota, url } = reminder
  return emailMessage({
    systemName,
    languages: ['zh', 'en'],
    centre: { kind: 'link', url, label: { zh: '立即充值', en: 'Top up' } },
    words: {
      zh: {
        subject: `${systemName} ${isExhausted ? '额度已用尽' : '额度提醒'}`,
        lead: [
          isExhausted
            ? `您好，${username}！您的额度已用尽，充值之前的调用会被拒绝。`
            : `您好，${username}！您的额度即将用尽，剩余 ${quota}。`,
        ],
        notes: [],
      },
      en: {
        subject: `${systemName}: your quota is ${isExhausted ? 'used up' : 'running low'}`,
        lead: [
          isExhausted
            ? `Hello ${username}! Your quota is used up. Calls are refused until you top up.`
            : `Hello ${username}! Your quota is running low: ${quota} left.`,
        ],
        notes: [],
      },
    },
  })
}

/** Email for a token that expires soon. */
export const tokenExpiryEmail = (
  systemName: string,
  {
    username,
    tokenName,
    days,
    url,
  }: { username: string; tokenName: string; days: number; url: string },
): EmailMessage =>
  emailMessage({
    systemName,
    languages: ['zh', 'en'],
    centre: { kind: 'link', url, label: { zh: '查看令牌', en: 'Show the tokens' } },
    words: {
      zh: {
        subject: `${systemName} 令牌即将过期`,
        lead: [
          `您好，${username}！令牌「${tokenName}」将在 ${days} 天内过期，之后使用它的程序无法调用。`,
        ],
        notes: ['如果还要使用，请延长过期时间；否则无需处理。'],
      },
      en: {
        subject: `${systemName}: a token expires soon`,
        lead: [
          `Hello ${username}! The token “${tokenName}” expires within ${days} ${days === 1 ? 'day' : 'days'}. After that, calls with it are refused.`,
        ],
        notes: ['If it is still needed, set a later expiry; otherwise ignore this email.'],
      },
    },
  })

/** Email that an administrator sends to test the mail settings. */
export const testEmail = (systemName: string, language: Language): EmailMessage =>
  emailMessage({
    systemName,
    languages: [language],
    centre: { kind: 'none' },
    words: {
      zh: {
        subject: `${systemName} 测试邮件`,
        lead: ['您好！收到这封邮件，说明邮件设置可以使用。'],
        notes: [],
      },
      en: {
        subject: `${systemName}: test email`,
        lead: ['Hello! If you can read this, the mail settings work.'],
        notes: [],
      },
    },
  })

/** Email about automatic changes of channel status since the last one. */
export function channelStatusEmail(
  systemName: string,
  { changes, url }: { changes: readonly ChannelChange[]; url: string },
): EmailMessage {
  const lines = (language: Language): string[] =>
    changes.map(({ id, name, isEnabled, reason }) =>
      language === 'zh'
        ? `渠道「${name}」（#${id}）已被自动${isEnabled ? '启用' : '禁用'}：${reason.zh}`
        : `Channel “${name}” (#${id}) was ${isEnabled ? 'enabled' : 'disabled'}: ${reason.en}`,
    )
  return emailMessage({
    systemName,
    languages: ['zh', 'en'],
    centre: { kind: 'link', url, label: { zh: '查看渠道', en: 'Show the channels' } },
    words: {
      zh: {
        subject: `${systemName} 渠道状态变更提醒（${changes.length}）`,
        lead: lines('zh'),
        notes: [],
      },
      en: {
        subject: `${systemName}: channels changed (${changes.length})`,
        lead: lines('en'),
        notes: [],
      },
    },
  })
}

export interface ChannelChange {
  id: number
  name: string
  isEnabled: boolean
  reason: Record<Language, string>
}

/** Email to root after a failed daily backup. `folder` is its target. */
export const dailyBackupEmail = (systemName: string, folder: string): EmailMessage =>
  emailMessage({
    systemName,
    languages: ['zh', 'en'],
    centre: { kind: 'none' },
    words: {
      zh: {
        subject: `${systemName} 每日备份失败`,
        lead: [`每日备份未能写入 ${folder}，一小时后会重试。原因见服务器日志。`],
        notes: ['请检查该目录的权限和磁盘空间；也可以运行 gatehouse backup 立即备份。'],
      },
      en: {
        subject: `${systemName}: the daily backup failed`,
        lead: [
          `The daily backup could not be written to ${folder}; the next attempt is in an hour. The server log contains the reason.`,
        ],
        notes: [
          'Check the permissions and the free space of that folder; gatehouse backup makes a backup immediately.',
        ],
      },
    },
  })

const COLON: Record<Language, string> = { zh: '：', en: ': ' }

/** Writes an email as text and as HTML. */
export function emailMessage({ systemName, languages, words, centre }: EmailPlan): EmailMessage {
  const parts = languages.map((language) => ({ language, ...words[language] }))
  const text = parts.map((part) => [
    ...part.lead,
    ...(centre.kind === 'code' ? [centre.code] : []),
    ...(centre.kind === 'link'
      ? [`${centre.label[part.language]}${COLON[part.language]}${centre.url}`]
      : []),
    ...part.notes,
  ])
  return {
    subject: parts.map(({ subject }) => subject).join(' / '),
    text: `${[...text.map((lines) => lines.join('\n\n')), `-- \n${systemName}`].join('\n\n')}\n`,
    html: htmlPage(
      parts.map((part) => htmlPart(part, centre)).join('<hr style="border:0;height:24px">'),
      { systemName, language: languages[0] ?? 'zh' },
    ),
  }
}

function htmlPart(
  { language, lead, notes }: Words & { language: Language },
  centre: Centre,
): string {
  const lang = HTML_LANGUAGE[language]
  return [
    `<div lang="${lang}">`,
    ...lead.map((line) => `<p style="margin:0 0 16px">${escaped(line)}</p>`),
    htmlCentre(centre, language),
    ...notes.map(
      (line) => `<p style="margin:0 0 8px;color:#667085;font-size:13px">${escaped(line)}</p>`,
    ),
    '</div>',
  ].join('\n')
}

function htmlCentre(centre: Centre, language: Language): string {
  switch (centre.kind) {
    case 'none':
      return ''
    case 'code':
      return (
        '<p style="margin:0 0 24px;font:600 28px/1.4 ui-monospace,Menlo,Consolas,monospace;' +
        `letter-spacing:6px">${escaped(centre.code)}</p>`
      )
    case 'link': {
      const url = escaped(centre.url)
      return [
        `<p style="margin:0 0 16px"><a href="${url}" style="display:inline-block;padding:10px 20px;`,
        'border-radius:6px;background:#1f5fd0;color:#ffffff;text-decoration:none">',
        `${escaped(centre.label[language])}</a></p>`,
        '<p style="margin:0 0 24px;color:#667085;font-size:13px;word-break:break-all">',
        `<a href="${url}" style="color:#667085">${url}</a></p>`,
      ].join('')
    }
    default:
      return centre satisfies never
  }
}

const HTML_LANGUAGE: Record<Language, string> = { zh: 'zh-CN', en: 'en' }

function htmlPage(
  body: string,
  { systemName, language }: { systemName: string; language: Language },
): string {
  const font =
    "font:15px/1.6 system-ui,-apple-system,'Segoe UI','PingFang SC','Microsoft YaHei',sans-serif"
  return [
    `<!doctype html><html lang="${HTML_LANGUAGE[language]}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width"></head>',
    `<body style="margin:0;background:#f4f5f7;${font};color:#1d2433">`,
    '<div style="max-width:520px;margin:0 auto;padding:32px 16px">',
    '<div style="padding:28px;border-radius:10px;background:#ffffff">',
    body,
    '</div>',
    `<p style="margin:16px 0 0;color:#667085;font-size:12px">${escaped(systemName)}</p>`,
    '</div></body></html>',
  ].join('\n')
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')
