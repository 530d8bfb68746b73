import { useLocation } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { patterns } from '../../paths.ts'
import { apiBase } from '../base.ts'
import { currentLanguage } from '../i18n.ts'
import type { PageRoute } from '../routing/pages.ts'
import { useStatus } from '../status.ts'
import styles from './shell.module.css'

/** Chapters of the manual (`docs/manual/`) by page; forms have the chapter of their list. */
const CHAPTERS: Readonly<Record<string, string>> = {
  [patterns.home]: 'quick-start',
  [patterns.dashboard]: 'billing',
  [patterns.login]: 'install',
  [patterns.register]: 'accounts',
  [patterns.channel]: 'channels',
  [patterns.token]: 'tokens',
  [patterns.redemption]: 'billing',
  [patterns.topup]: 'billing',
  [patterns.user]: 'accounts',
  [patterns.profile]: 'accounts',
  [patterns.log]: 'monitoring',
  [patterns.audit]: 'monitoring',
  [patterns.chat]: 'programs',
}
const SETTING_CHAPTERS: Readonly<Record<string, string>> = {
  operation: 'billing',
  price: 'billing',
  model: 'models',
}

function chapterOf(page: PageRoute | null, tab: string): string {
  if (page === null) return ''
  if (page.path === patterns.setting) return SETTING_CHAPTERS[tab] ?? 'accounts'
  return CHAPTERS[page.under ?? page.path] ?? ''
}

/** Leads to the chapter of the manual about the page, in the reader's language. */
export function HelpLink({ page }: { page: PageRoute | null }) {
  const { t } = useTranslation()
  const { gatehouse } = useStatus()
  const tab = useLocation({ select: ({ search }) => String(Object(search)['tab'] ?? '') })
  if (gatehouse?.manual !== true) return null
  const chapter = chapterOf(page, tab)
  const folder = currentLanguage() === 'zh' ? '' : 'en/'
  return (
    <a
      href={`${apiBase()}/docs/${folder}${chapter === '' ? '' : `${chapter}.html`}`}
      target="_blank"
      rel="noopener"
      className={styles['help']}
      title={t('使用手册')}
      aria-label={t('使用手册')}
    >
      ?
    </a>
  )
}
