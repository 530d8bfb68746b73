import type { Language } from '../../contract/errors.ts'
import { emailMessage } from './email-messages.ts'
import type { EmailMessage } from './mail.ts'

/** Changes of how an account signs in, of which its owner is notified by email. */
const CHANGES = {
  username: { zh: '用户名已修改', en: 'the username was changed' },
  password: { zh: '密码已修改', en: 'the password was changed' },
  password_reset: {
    zh: '密码已通过邮件中的链接重置',
    en: 'the password was reset with a link from an email',
  },
  email: {
    zh: '邮箱已更换，今后的邮件不再发送到这个地址',
    en: 'the email address was changed; later emails do not go to this address',
  },
  second_factor_on: { zh: '两步验证已启用', en: 'two-factor sign-in was turned on' },
  second_factor_off: { zh: '两步验证已关闭', en: 'two-factor sign-in was turned off' },
  second_factor_reset: {
    zh: '两步验证已重置，通行密钥已删除',
    en: 'two-factor sign-in was reset and the passkeys were deleted',
  },
  recovery_codes: { zh: '恢复码已更换', en: 'the recovery codes were replaced' },
  passkey_added: { zh: '添加了通行密钥', en: 'a passkey was added' },
  passkey_removed: { zh: '删除了通行密钥', en: 'a passkey was deleted' },
  access_token: { zh: '新建了系统访问令牌', en: 'a system access token was created' },
  identity_linked: { zh: '绑定了第三方账户', en: 'an external account was linked' },
  identity_unlinked: { zh: '解除了第三方账户的绑定', en: 'an external account was unlinked' },
} as const satisfies Record<string, Record<Language, string>>
export type CredentialChange = keyof typeof CHANGES

interface Notice {
  username: string
  change: CredentialChange
  time: string
  /** Browser and address of the caller; null for a change by an administrator. */
  caller: { device: string; address: string } | null
  url: string
}

/** Email about a change of how an account signs in. `language` is null if unknown. */
export function credentialEmail(
  systemName: string,
  language: Language | null,
  { username, change, time, caller, url }: Notice,
): EmailMessage {
  const by = {
    zh:
      caller === null ? '由管理员操作' : `设备 ${caller.device || '未知'}，地址 ${caller.address}`,
    en:
      caller === null
        ? 'by an administrator'
        : `device ${caller.device || 'unknown'}, address ${caller.address}`,
  }
  const { zh, en } = CHANGES[change]
  return emailMessage({
    systemName,
    languages: language === null ? ['zh', 'en'] : [language],
    centre: { kind: 'link', url, label: { zh: '查看账户设置', en: 'Open the account settings' } },
    words: {
      zh: {
        subject: `${systemName} 账户安全提醒`,
        lead: [`您好，${username}！您的账户有变更：${zh}。时间 ${time}，${by.zh}。`],
        notes:
          caller === null
            ? ['如有疑问，请联系管理员。']
            : [
                '如果是您本人操作，无需处理。',
                '如果不是，请立即修改密码，退出其他全部登录，并检查两步验证、通行密钥、系统访问令牌和已绑定的账户；无法登录时请联系管理员。',
              ],
      },
      en: {
        subject: `${systemName}: the sign-in of your account was changed`,
        lead: [`Hello ${username}! A notice about your account: ${en}. Time ${time}, ${by.en}.`],
        notes:
          caller === null
            ? ['If you have questions, ask your administrator.']
            : [
                'If it was you, there is nothing to do.',
                'If it was not, change your password now, sign out everywhere else, and check two-factor sign-in, passkeys, system access tokens and linked accounts. If you cannot sign in, ask your administrator.',
              ],
      },
    },
  })
}
