import { lazyRouteComponent } from '@tanstack/react-router'
import { mark } from './app/i18n.ts'
import type { PageRoute } from './app/routing/pages.ts'
import { paths, patterns } from './paths.ts'

/** Every page: its address, who may open it, its title. The menu shows its entries in this order. */
export const pages: readonly PageRoute[] = [
  {
    path: paths.home,
    access: 'anyone',
    title: mark('首页'),
    component: lazyRouteComponent(() => import('./content/home-page.tsx'), 'HomePage'),
    inMenu: true,
  },
  {
    path: paths.login,
    access: 'anyone',
    title: mark('登录'),
    component: lazyRouteComponent(() => import('./account/login-page.tsx'), 'LoginPage'),
    isLight: true,
  },
  {
    path: paths.channel,
    access: 'admin',
    title: mark('渠道'),
    component: lazyRouteComponent(
      () => import('./channel/channel-list-page.tsx'),
      'ChannelListPage',
    ),
    inMenu: true,
  },
  {
    path: paths.channelAdd,
    access: 'admin',
    title: mark('添加渠道'),
    component: lazyRouteComponent(
      () => import('./channel/channel-form-page.tsx'),
      'ChannelAddPage',
    ),
    under: paths.channel,
  },
  {
    path: patterns.channelEdit,
    access: 'admin',
    title: mark('编辑渠道'),
    component: lazyRouteComponent(
      () => import('./channel/channel-form-page.tsx'),
      'ChannelEditPage',
    ),
    under: paths.channel,
  },
  {
    path: paths.token,
    access: 'user',
    title: mark('令牌'),
    component: lazyRouteComponent(() => import('./token/token-list-page.tsx'), 'TokenListPage'),
    inMenu: true,
  },
  {
    path: paths.tokenAdd,
    access: 'user',
    title: mark('创建令牌'),
    component: lazyRouteComponent(() => import('./token/token-form-page.tsx'), 'TokenAddPage'),
    under: paths.token,
  },
  {
    path: patterns.tokenEdit,
    access: 'user',
    title: mark('编辑令牌'),
    component: lazyRouteComponent(() => import('./token/token-form-page.tsx'), 'TokenEditPage'),
    under: paths.token,
  },
  {
    path: paths.log,
    access: 'user',
    title: mark('日志'),
    component: lazyRouteComponent(() => import('./log/log-page.tsx'), 'LogPage'),
    inMenu: true,
  },
  {
    path: paths.profile,
    access: 'user',
    title: mark('个人信息'),
    component: lazyRouteComponent(() => import('./account/profile-page.tsx'), 'ProfilePage'),
  },
  {
    path: paths.about,
    access: 'anyone',
    title: mark('关于'),
    component: lazyRouteComponent(() => import('./content/about-page.tsx'), 'AboutPage'),
    inMenu: true,
  },
]
