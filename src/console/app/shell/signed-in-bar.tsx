import '@mantine/core/styles/Menu.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Menu, useMantineColorScheme } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isAdmin, isRoot } from '../../../contract/user.ts'
import { paths } from '../../paths.ts'
import { currentLanguage, setLanguage } from '../i18n.ts'
import { loadMissingSheets, MISSING_FILE } from '../routing/missing-files.ts'
import { useHasPage } from '../routing/pages.ts'
import { queryClient } from '../queries.tsx'
import { selfQuery, useFollowSelf } from '../self.ts'
import { type SessionUser, useSessionUser } from '../session.ts'
import { useQuotaText } from '../status.ts'
import { toast } from '../toast.ts'
import styles from './shell.module.css'
import { useSignOut } from './sign-out.ts'

const IDLE_AFTER_MS = 1000

async function loadPalette() {
  await loadMissingSheets()
  return import('./palette.tsx')
}

/** Balance of the signed-in user; null until it is loaded. */
function useBalance(): string | null {
  const quotaText = useQuotaText()
  const { data } = useQuery(selfQuery, queryClient)
  return data === undefined ? null : quotaText(data.quota)
}

function Balance() {
  const { t } = useTranslation()
  const hasPage = useHasPage()
  const text = useBalance()
  if (text === null) return <span className={styles['balance']} />
  const label = t('余额 {{amount}}', { amount: text })
  if (!hasPage(paths.topup)) {
    return (
      <span className={styles['balance']} title={label}>
        {text}
      </span>
    )
  }
  return (
    <Link to={paths.topup} className={styles['balance']} aria-label={label}>
      {text}
    </Link>
  )
}

/** Calls `work` when the browser is idle, or after a short delay if it cannot report that. */
function whenIdle(work: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(work, IDLE_AFTER_MS)
    return () => clearTimeout(timer)
  }
  const request = requestIdleCallback(work)
  return () => cancelIdleCallback(request)
}

/** Users type right after the shortcut, so the palette is loaded in advance. */
function usePalette() {
  // After a failed load, the next opening tries again.
  const [loaded, setLoaded] = useState<Awaited<ReturnType<typeof loadPalette>> | null>(null)
  const load = useCallback(async () => {
    const palette = await loadPalette()
    setLoaded(palette)
    return palette
  }, [])
  useEffect(() => whenIdle(() => void load().catch(() => {})), [load])
  return { loaded, load }
}

/** An open dialog has priority: a native one would cover the palette and trap the keyboard. */
const isDialogOpen = () => document.querySelector('dialog[open], [aria-modal=true]') !== null

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)

function PaletteField() {
  const { t } = useTranslation()
  const button = useRef<HTMLButtonElement>(null)
  const { loaded, load } = usePalette()
  function open() {
    if (loaded !== null) {
      loaded.openPalette()
      return
    }
    // Keeps keystrokes out of the form behind until the palette has loaded.
    button.current?.focus()
    void load().then(
      ({ openPalette }) => openPalette(),
      () => toast.error(t(MISSING_FILE)),
    )
  }
  useHotkeys([['mod+K', () => isDialogOpen() || open()]], [])
  return (
    <>
      <button
        ref={button}
        type="button"
        className={styles['palette']}
        onClick={open}
        aria-keyshortcuts={isApple ? 'Meta+K' : 'Control+K'}
      >
        <span>{t('搜索或跳转')}</span>
        <kbd>{isApple ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      {loaded !== null && <loaded.Palette />}
    </>
  )
}

function roleName(role: number, t: (text: string) => string): string {
  if (isRoot(role)) return t('超级管理员')
  return isAdmin(role) ? t('管理员') : t('普通用户')
}

function PersonMenu({ user }: { user: SessionUser }) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const signOut = useSignOut()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const balance = useBalance()
  const initials = [...user.username].slice(0, 2).join('').toUpperCase()
  return (
    <Menu position="bottom-end" width={200} classNames={{ item: styles['menuItem'] ?? '' }}>
      <Menu.Target>
        <button
          type="button"
          className={styles['person']}
          aria-label={t('{{initials}}：{{name}} 的账户菜单', { initials, name: user.username })}
        >
          {initials}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <div className={styles['personName']}>
          <strong>{user.display_name || user.username}</strong>
          <span>
            {user.username} · {roleName(user.role, t)}
          </span>
          {balance !== null && <span>{t('余额 {{amount}}', { amount: balance })}</span>}
        </div>
        <Menu.Divider />
        <Menu.Item onClick={() => void navigate({ to: paths.profile })}>{t('个人信息')}</Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t('语言')}</Menu.Label>
        <Menu.RadioGroup
          value={currentLanguage()}
          onChange={(code) => void setLanguage(code === 'en' ? 'en' : 'zh')}
        >
          <Menu.RadioItem value="zh">中文</Menu.RadioItem>
          <Menu.RadioItem value="en">English</Menu.RadioItem>
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Label>{t('外观')}</Menu.Label>
        <Menu.RadioGroup
          value={colorScheme}
          onChange={(name) => setColorScheme(name === 'light' || name === 'dark' ? name : 'auto')}
        >
          <Menu.RadioItem value="light">{t('浅色')}</Menu.RadioItem>
          <Menu.RadioItem value="dark">{t('深色')}</Menu.RadioItem>
          <Menu.RadioItem value="auto">{t('跟随系统')}</Menu.RadioItem>
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>{t('退出登录')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

export function SignedInBar() {
  const user = useSessionUser()
  useFollowSelf(queryClient)
  if (user === null) return null
  return (
    <>
      <PaletteField />
      <Balance />
      <PersonMenu user={user} />
    </>
  )
}
