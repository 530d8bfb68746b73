import { Outlet, useMatches } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ProofPlace } from '../proof/proof-place.tsx'
import { usePageAnnouncement } from '../routing/page-announcement.ts'
import type { PageRoute } from '../routing/pages.ts'
import { TitlePartContext } from '../routing/title-part.ts'
import { systemName, useStatus } from '../status.ts'
import { Footer } from './footer.tsx'
import { Gate } from './gate.tsx'
import styles from './shell.module.css'
import { Toasts } from './toasts.tsx'
import { withTooltips } from './tooltips.ts'
import { TopBar } from './top-bar.tsx'

/** The route of the current page; null if the path is unknown. */
function usePageInView(): PageRoute | null {
  return useMatches({ select: (matches) => matches.at(-1)?.staticData.page ?? null })
}

function useDocumentTitle(title: string, part: string) {
  const name = systemName(useStatus())
  useEffect(() => {
    document.title = [part, title, name].filter((text) => text !== '').join(' · ')
  }, [part, title, name])
}

export function Layout() {
  const { t } = useTranslation()
  const page = usePageInView()
  const [part, setPart] = useState('')
  const title = page === null ? t('页面不存在') : t(page.title)
  useDocumentTitle(title, part)
  const news = usePageAnnouncement(title)
  return (
    <div className={styles['frame']}>
      <a href="#content" className={styles['skip']} onClick={skipToContent}>
        {t('跳到内容')}
      </a>
      <TopBar page={page} />
      <output className="sr-only">{news}</output>
      <main id="content" className={styles['main']} tabIndex={-1}>
        <Gate access={page?.access ?? 'anyone'}>
          <TitlePartContext value={setPart}>
            <Outlet />
          </TitlePartContext>
        </Gate>
        <div id="floating" ref={withTooltips} />
      </main>
      <Footer />
      <Suspense>
        <ProofPlace />
      </Suspense>
      <Toasts />
    </div>
  )
}

/** Because of `<base>`, a link to `#content` would navigate to the home page. */
function skipToContent(event: React.MouseEvent) {
  event.preventDefault()
  document.getElementById('content')?.focus()
}
