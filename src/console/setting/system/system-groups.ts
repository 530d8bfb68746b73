import { mark } from '../../app/i18n.ts'
import type { OptionGroup } from '../option/option-field.ts'

export const systemGroups: readonly OptionGroup[] = [
  {
    id: 'server',
    title: mark('服务器'),
    saveLabel: mark('更新服务器地址'),
    fields: [
      {
        key: 'ServerAddress',
        kind: 'address',
        isBase: true,
        label: mark('服务器地址'),
        hint: mark('邮件中的链接和第三方登录的回调都以它开头；有子路径的要写上'),
        placeholder: mark('例如 https://gateway.example.com'),
      },
    ],
  },
  {
    id: 'sign-in',
    title: mark('登录与注册'),
    saveLabel: mark('保存登录与注册设置'),
    fields: [
      {
        key: 'PasswordLoginEnabled',
        kind: 'toggle',
        label: mark('允许通过密码登录'),
        confirmOff: {
          question: mark(
            '关闭密码登录后，没有绑定其他登录方式的用户（包括管理员）都将无法登录。确定要关闭吗？',
          ),
          label: mark('关闭密码登录'),
        },
      },
      { key: 'PasswordRegisterEnabled', kind: 'toggle', label: mark('允许通过密码注册') },
      {
        key: 'EmailVerificationEnabled',
        kind: 'toggle',
        label: mark('通过密码注册时需要验证邮箱'),
        hint: mark('需要先填写 SMTP'),
        needs: { SMTPServer: mark('SMTP 服务器') },
      },
      {
        key: 'GitHubOAuthEnabled',
        kind: 'toggle',
        label: mark('允许通过 GitHub 登录和注册'),
        hint: mark('需要先填写 GitHub OAuth'),
        needs: {
          GitHubClientId: mark('GitHub Client ID'),
          GitHubClientSecret: mark('GitHub Client Secret'),
        },
      },
      {
        key: 'WeChatAuthEnabled',
        kind: 'toggle',
        label: mark('允许通过微信登录和注册'),
        hint: mark('需要先填写微信服务器'),
        needs: {
          WeChatServerAddress: mark('微信服务器地址'),
          WeChatServerToken: mark('微信服务器访问凭证'),
        },
      },
      {
        key: 'OidcEnabled',
        kind: 'toggle',
        isOurs: true,
        label: mark('允许通过 OIDC 登录和注册'),
        hint: mark('需要先填写 OIDC'),
        needs: {
          OidcClientId: mark('OIDC Client ID'),
          OidcClientSecret: mark('OIDC Client Secret'),
        },
      },
      {
        key: 'RegisterEnabled',
        kind: 'toggle',
        label: mark('允许新用户注册'),
        hint: mark('关闭后，任何方式都不能注册'),
      },
      {
        key: 'TurnstileCheckEnabled',
        kind: 'toggle',
        label: mark('启用 Turnstile 人机验证'),
        hint: mark('需要先填写 Turnstile'),
        needs: {
          TurnstileSiteKey: mark('Turnstile Site Key'),
          TurnstileSecretKey: mark('Turnstile Secret Key'),
        },
      },
      {
        key: 'SessionIdleMinutes',
        kind: 'number',
        isOurs: true,
        min: 0,
        max: 43_200,
        step: 1,
        unit: mark('分钟'),
        label: mark('空闲多久后退出登录'),
        hint: mark('超过这段时间没有操作的登录会失效；0 为不限'),
      },
    ],
  },
  {
    id: 'email-domain',
    title: mark('邮箱域名白名单'),
    saveLabel: mark('保存邮箱域名白名单'),
    fields: [
      {
        key: 'EmailDomainRestrictionEnabled',
        kind: 'toggle',
        label: mark('启用邮箱域名白名单'),
        hint: mark('只有这些域名的邮箱可以注册'),
      },
      { key: 'EmailDomainWhitelist', kind: 'domains', label: mark('允许的邮箱域名') },
    ],
  },
  {
    id: 'smtp',
    title: mark('SMTP'),
    saveLabel: mark('保存 SMTP 设置'),
    fields: [
      {
        key: 'SMTPServer',
        kind: 'text',
        label: mark('SMTP 服务器'),
        hint: mark('用来发送邮件'),
        placeholder: mark('例如 smtp.example.com'),
      },
      {
        key: 'SMTPPort',
        kind: 'number',
        min: 1,
        max: 65_535,
        step: 1,
        label: mark('SMTP 端口'),
        hint: mark('默认 587；465 为隐式 TLS'),
      },
      {
        key: 'SMTPAccount',
        kind: 'text',
        label: mark('SMTP 账户'),
        placeholder: mark('通常是邮箱地址'),
      },
      {
        key: 'SMTPFrom',
        kind: 'text',
        label: mark('发件人邮箱'),
        hint: mark('留空则使用 SMTP 账户'),
      },
      { key: 'SMTPToken', kind: 'secret', label: mark('SMTP 密码或授权码') },
    ],
  },
  {
    id: 'github',
    title: mark('GitHub OAuth'),
    saveLabel: mark('保存 GitHub OAuth 设置'),
    fields: [
      {
        key: 'GitHubClientId',
        kind: 'text',
        label: mark('Client ID'),
        hint: mark('回调地址为服务器地址加 /oauth/github'),
      },
      { key: 'GitHubClientSecret', kind: 'secret', label: mark('Client Secret') },
    ],
  },
  {
    id: 'lark',
    title: mark('飞书 OAuth'),
    saveLabel: mark('保存飞书 OAuth 设置'),
    fields: [
      {
        key: 'LarkClientId',
        kind: 'text',
        label: mark('App ID'),
        hint: mark('重定向地址为服务器地址加 /oauth/lark；填写后登录页出现飞书'),
      },
      { key: 'LarkClientSecret', kind: 'secret', label: mark('App Secret') },
    ],
  },
  {
    id: 'wechat',
    title: mark('微信服务器'),
    saveLabel: mark('保存微信服务器设置'),
    fields: [
      {
        key: 'WeChatServerAddress',
        kind: 'address',
        isBase: true,
        label: mark('微信服务器地址'),
        hint: mark('用于微信登录的辅助服务器'),
      },
      { key: 'WeChatServerToken', kind: 'secret', label: mark('微信服务器访问凭证') },
      {
        key: 'WeChatAccountQRCodeImageURL',
        kind: 'text',
        isPicture: true,
        label: mark('公众号二维码图片链接'),
        hint: mark('登录时让用户扫码关注'),
      },
    ],
  },
  {
    id: 'oidc',
    title: mark('OIDC'),
    saveLabel: mark('保存 OIDC 设置'),
    fields: [
      {
        key: 'OidcClientId',
        kind: 'text',
        label: mark('Client ID'),
        hint: mark('回调地址为服务器地址加 /oauth/oidc'),
      },
      { key: 'OidcClientSecret', kind: 'secret', label: mark('Client Secret') },
      {
        key: 'OidcWellKnown',
        kind: 'address',
        label: mark('发现地址'),
        placeholder: mark('例如 https://id.example.com/.well-known/openid-configuration'),
      },
      { key: 'OidcAuthorizationEndpoint', kind: 'address', label: mark('授权地址') },
      { key: 'OidcTokenEndpoint', kind: 'address', label: mark('令牌地址') },
      { key: 'OidcUserinfoEndpoint', kind: 'address', label: mark('用户信息地址') },
    ],
  },
  {
    id: 'pusher',
    title: mark('消息推送'),
    saveLabel: mark('保存消息推送设置'),
    fields: [
      {
        key: 'MessagePusherAddress',
        kind: 'address',
        isBase: true,
        label: mark('消息推送地址'),
        hint: mark('渠道状态变更等通知发到这里；留空则发邮件'),
        placeholder: mark('例如 https://push.example.com/push/name'),
      },
      { key: 'MessagePusherToken', kind: 'secret', label: mark('消息推送访问凭证') },
    ],
  },
  {
    id: 'turnstile',
    title: mark('Turnstile'),
    saveLabel: mark('保存 Turnstile 设置'),
    fields: [
      {
        key: 'TurnstileSiteKey',
        kind: 'text',
        label: mark('Site Key'),
        hint: mark('注册、发送邮件前的人机验证'),
      },
      { key: 'TurnstileSecretKey', kind: 'secret', label: mark('Secret Key') },
    ],
  },
]
