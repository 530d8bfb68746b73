/** Paths of the console. Patterns (`$id`) are matched by the route table. */
export const patterns = {
  home: '/',
  login: '/login',
  register: '/register',
  reset: '/reset',
  resetConfirm: '/user/reset',
  oauthGithub: '/oauth/github',
  oauthLark: '/oauth/lark',
  oauthOidc: '/oauth/oidc',
  oauthLinuxdo: '/oauth/linuxdo',
  oauthDiscord: '/oauth/discord',
  oauthNamed: '/oauth/oidc/$name',
  channel: '/channel',
  channelAdd: '/channel/add',
  channelEdit: '/channel/edit/$id',
  redemption: '/redemption',
  redemptionAdd: '/redemption/add',
  redemptionEdit: '/redemption/edit/$id',
  user: '/user',
  userAdd: '/user/add',
  userEdit: '/user/edit/$id',
  profile: '/user/edit',
  token: '/token',
  tokenAdd: '/token/add',
  tokenEdit: '/token/edit/$id',
  topup: '/topup',
  log: '/log',
  dashboard: '/dashboard',
  setting: '/setting',
  audit: '/audit',
  about: '/about',
  chat: '/chat',
} as const

const withId = (pattern: string, id: number): string => pattern.replace('$id', String(id))

export const paths = {
  ...patterns,
  channelEdit: (id: number) => withId(patterns.channelEdit, id),
  redemptionEdit: (id: number) => withId(patterns.redemptionEdit, id),
  userEdit: (id: number) => withId(patterns.userEdit, id),
  tokenEdit: (id: number) => withId(patterns.tokenEdit, id),
}
