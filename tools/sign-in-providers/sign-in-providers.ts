import { parseArgs } from 'node:util'
import { startGithubProvider } from './github-provider.ts'
import { startLarkProvider } from './lark-provider.ts'
import { startOidcProvider } from './oidc-provider.ts'
import { startWechatProvider } from './wechat-provider.ts'

/** Starts all providers for manual tests; see README.md in this folder. */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4020' },
    gateway: { type: 'string', default: 'http://127.0.0.1:3000' },
  },
})
const port = Number(values.port)
const gateway = values.gateway.replace(/\/+$/, '')

const github = await startGithubProvider(port)
github.callback = `${gateway}/oauth/github`
github.people.set('octocat', { id: 583231, login: 'octocat', name: 'The Octocat' })
const lark = await startLarkProvider(port + 1)
lark.people.set('xiaofei', { open_id: 'ou_1', name: '小飞' })
const oidc = await startOidcProvider([`${gateway}/oauth/oidc`], port + 2)
oidc.people.set('alice', { name: 'Alice', preferred_username: 'alice' })
const wechat = await startWechatProvider(port + 3)
wechat.codes.set('123456', 'wx_1')

const settings = {
  GitHubClientId: github.clientId,
  GitHubClientSecret: github.clientSecret,
  LarkClientId: lark.clientId,
  LarkClientSecret: lark.clientSecret,
  OidcClientId: oidc.clientId,
  OidcClientSecret: oidc.clientSecret,
  OidcWellKnown: oidc.wellKnown,
  WeChatServerAddress: wechat.url,
  WeChatServerToken: wechat.token,
  WeChatAccountQRCodeImageURL: `${wechat.url}/qrcode.svg`,
}
const environment = {
  GITHUB_BASE_URL: github.url,
  GITHUB_API_BASE_URL: github.url,
  LARK_BASE_URL: lark.url,
  LARK_API_BASE_URL: lark.url,
}
const lines = (pairs: Record<string, string>, mark: string) =>
  Object.entries(pairs).map(([name, value]) => `${name}${mark}${value}`)
process.stdout.write(
  [
    'Start the gateway with:',
    ...lines(environment, '='),
    '',
    'Set in its system settings:',
    ...lines(settings, ': '),
    '',
    'The code 123456 of the messaging provider serves once.',
    '',
  ].join('\n'),
)
