/** A page for tests and screenshots, and the name of its files. */
export interface PageAddress {
  name: string
  path: string
}

/** Every page for visitors. */
export const VISITOR_PAGES: readonly PageAddress[] = [
  { name: 'login', path: '/login' },
  { name: 'register', path: '/register' },
  { name: 'reset', path: '/reset' },
  { name: 'reset-confirm', path: '/user/reset?email=a@example.com&token=t' },
  { name: 'home', path: '/' },
  { name: 'about', path: '/about' },
  { name: 'not-found', path: '/nowhere' },
]

/** Every page for root; forms show the first row of their list. */
export const ROOT_PAGES: readonly PageAddress[] = [
  { name: 'home-signed-in', path: '/' },
  { name: 'dashboard', path: '/dashboard' },
  { name: 'dashboard-hours', path: '/dashboard?range=24h&by=user' },
  { name: 'chat', path: '/chat' },
  { name: 'channel', path: '/channel' },
  { name: 'channel-add', path: '/channel/add' },
  { name: 'channel-edit', path: '/channel/edit/1' },
  { name: 'token', path: '/token' },
  { name: 'token-add', path: '/token/add' },
  { name: 'token-edit', path: '/token/edit/1' },
  { name: 'redemption', path: '/redemption' },
  { name: 'redemption-add', path: '/redemption/add' },
  { name: 'redemption-edit', path: '/redemption/edit/1' },
  { name: 'topup', path: '/topup' },
  { name: 'user', path: '/user' },
  { name: 'user-add', path: '/user/add' },
  { name: 'user-edit', path: '/user/edit/1' },
  { name: 'profile', path: '/user/edit' },
  { name: 'log', path: '/log' },
  { name: 'setting-personal', path: '/setting?tab=personal' },
  { name: 'setting-price', path: '/setting?tab=price' },
  { name: 'setting-operation', path: '/setting?tab=operation' },
  { name: 'setting-model', path: '/setting?tab=model' },
  { name: 'setting-system', path: '/setting?tab=system' },
  { name: 'setting-other', path: '/setting?tab=other' },
  { name: 'second-factor', path: '/second-factor' },
  { name: 'audit', path: '/audit' },
]
