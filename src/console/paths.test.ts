import { expect, test } from 'vitest'
import { paths } from './paths.ts'

test('lists every path of the console', () => {
  const addresses = Object.entries(paths).map(([name, path]) => {
    return `${name}: ${typeof path === 'string' ? path : path(7)}`
  })
  expect(addresses).toMatchInlineSnapshot(`
    [
      "home: /",
      "login: /login",
      "register: /register",
      "reset: /reset",
      "resetConfirm: /user/reset",
      "oauthGithub: /oauth/github",
      "oauthLark: /oauth/lark",
      "oauthOidc: /oauth/oidc",
      "oauthLinuxdo: /oauth/linuxdo",
      "oauthDiscord: /oauth/discord",
      "oauthNamed: /oauth/oidc/$name",
      "channel: /channel",
      "channelAdd: /channel/add",
      "channelEdit: /channel/edit/7",
      "redemption: /redemption",
      "redemptionAdd: /redemption/add",
      "redemptionEdit: /redemption/edit/7",
      "user: /user",
      "userAdd: /user/add",
      "userEdit: /user/edit/7",
      "profile: /user/edit",
      "token: /token",
      "tokenAdd: /token/add",
      "tokenEdit: /token/edit/7",
      "topup: /topup",
      "log: /log",
      "dashboard: /dashboard",
      "setting: /setting",
      "factorSetup: /second-factor",
      "audit: /audit",
      "about: /about",
      "chat: /chat",
    ]
  `)
})
