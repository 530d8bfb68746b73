import { Link, useLocation } from '@tanstack/react-router'
import { Suspense, useEffect, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { paths } from '../../paths.ts'
import { currentLanguage, setLanguage } from '../i18n.ts'
import { lazyPart } from './lazy-part.ts'
import { type PageRoute, useHasPage, usePages } from '../routing/pages.ts'
import { mayOpen, useSessionUser } from '../session.ts'
import { logoAddress, systemName, useMayRegister, useStatus } from '../status.ts'
import styles from './shell.module.css'

const SignedInBar = lazyPart(async () => (await import('./signed-in-bar.tsx')).SignedInBar)

function Brand() {
  const status = useStatus()
  const address = logoAddress(status)
  const [broken, setBroken] = useState('')
  return (
    <Link to={paths.home} className={styles['brand']}>
      {address !== broken && (
        <img
          src={address}
          alt=""
          width={20}
          height={20}
          // Hides a broken image: the name beside it is enough.
          onError={() => setBroken(address)}
        />
      )}
      <span>{systemName(status)}</span>
    </Link>
  )
}

/** Menu entries of existing pages that the user may open. */
function useMenu(): readonly PageRoute[] {
  const user = useSessionUser()
  const status = useStatus()
  return usePages().filter((page) => {
    if (page.path === paths.chat && !status.chat_link) return false
    return page.inMenu === true && mayOpen(page.access, user)
  })
}

function Menu({ page }: { page: PageRoute | null }) {
  const { t } = useTranslation()
  const here = page?.under ?? page?.path
  return useMenu().map((entry) => (
    <Link
      key={entry.path}
      to={entry.path}
      className={styles['menuWord']}
      activeProps={{}}
      activeOptions={{ exact: true }}
      aria-current={entry.path === here ? 'page' : undefined}
    >
      {t(entry.title)}
    </Link>
  ))
}

function LanguageSwitch() {
  const { t } = useTranslation()
  const language = currentLanguage()
  return (
    <button
      type="button"
      className={styles['language']}
      title={t('切换语言')}
      onClick={() => void setLanguage(language === 'zh' ? 'en' : 'zh')}
    >
      <span data-chosen={language === 'zh'}>中</span> /{' '}
      <span data-chosen={language === 'en'}>EN</span>
    </button>
  )
}

function VisitorLinks() {
  const { t } = useTranslation()
  const mayRegister = useMayRegister()
  const hasPage = useHasPage()
  return (
    <>
      <Link to={paths.login} className={styles['menuWord']} activeProps={{}}>
        {t('登录')}
      </Link>
      {mayRegister && hasPage(paths.register) && (
        <Link to={paths.register} className={styles['menuWord']} activeProps={{}}>
          {t('注册')}
        </Link>
      )}
      <LanguageSwitch />
    </>
  )
}

export function TopBar({ page }: { page: PageRoute | null }) {
  const { t } = useTranslation()
  const user = useSessionUser()
  const menuId = useId()
  const pathname = useLocation({ select: (location) => location.pathname })
  // The menu of a narrow window belongs to the page on which it was opened, and closes on
  // navigation.
  const [openedOn, setOpenedOn] = useState<string | null>(null)
  const isOpen = openedOn === pathname
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') setOpenedOn(null)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return (
    <header className={styles['bar']}>
      <Brand />
      <nav id={menuId} className={styles['menu']} data-open={isOpen} aria-label={t('主菜单')}>
        <Menu page={page} />
      </nav>
      <div className={styles['side']}>
        {user === null ? (
          <VisitorLinks />
        ) : (
          <Suspense fallback={null}>
            <SignedInBar />
          </Suspense>
        )}
      </div>
      <button
        type="button"
        className={styles['menuButton']}
        aria-expanded={isOpen}
        aria-controls={menuId}
        aria-label={t('菜单')}
        onClick={() => setOpenedOn(isOpen ? null : pathname)}
      >
        <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2 4h12M2 8h12M2 12h12" stroke="currentColor" strokeWidth="1.5" />
        </svg>
      </button>
    </header>
  )
}
