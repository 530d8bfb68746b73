/** The chapters of the manual in reading order. A chapter is a page of every language. */
export const CHAPTERS = [
  {
    zh: '开始',
    en: 'Start',
    pages: ['quick-start', 'install', 'move'],
  },
  {
    zh: '使用',
    en: 'Use',
    pages: ['channels', 'providers/index', 'tokens', 'billing', 'routing', 'accounts', 'models'],
  },
  {
    zh: '接入程序',
    en: 'Programs',
    pages: ['programs', 'api'],
  },
  {
    zh: '运维',
    en: 'Operate',
    pages: [
      'operating',
      'proxy',
      'backup',
      'upgrade',
      'monitoring',
      'cluster',
      'log-store',
      'settings',
    ],
  },
  {
    zh: '排查与参考',
    en: 'Help',
    pages: ['troubleshooting', 'errors', 'faq', 'glossary', 'changelog'],
  },
] as const

export const LANGUAGES = ['zh', 'en'] as const
export type Language = (typeof LANGUAGES)[number]
