import { Link, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { isRoot, Role } from '../../contract/user.ts'
import { mark } from '../app/i18n.ts'
import { useTitlePart } from '../app/routing/title-part.ts'
import { useSessionUser } from '../app/session.ts'
import { useStatus } from '../app/status.ts'
import { paths } from '../paths.ts'
import { Loading } from '../ui/loading.tsx'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import styles from './setting.module.css'
import { mayManageOptions } from './setting-access.ts'

interface Tab {
  id: string
  title: string
  /** For users who may change settings. */
  isManaging?: boolean
  content: React.ComponentType
}

const tabs: readonly Tab[] = [
  {
    id: 'personal',
    title: mark('个人设置'),
    content: lazy(async () => ({
      default: (await import('./personal-settings.tsx')).PersonalSettings,
    })),
  },
  {
    id: 'price',
    title: mark('模型价格'),
    content: lazy(async () => ({
      default: (await import('./price/price-settings.tsx')).PriceSettings,
    })),
  },
  {
    id: 'operation',
    title: mark('运营设置'),
    isManaging: true,
    content: lazy(async () => ({
      default: (await import('./operation/operation-settings.tsx')).OperationSettings,
    })),
  },
  {
    id: 'model',
    title: mark('模型能力'),
    isManaging: true,
    content: lazy(async () => ({
      default: (await import('./model/model-settings.tsx')).ModelSettings,
    })),
  },
  {
    id: 'system',
    title: mark('系统设置'),
    isManaging: true,
    content: lazy(async () => ({
      default: (await import('./system/system-settings.tsx')).SystemSettings,
    })),
  },
  {
    id: 'other',
    title: mark('其他设置'),
    isManaging: true,
    content: lazy(async () => ({
      default: (await import('./other/other-settings.tsx')).OtherSettings,
    })),
  },
]

/** The tab in the address, or the first one; null if the user may not open it. */
function tabOf(id: string | undefined, open: readonly Tab[]): Tab | null {
  if (tabs.some((tab) => tab.id === id)) return open.find((tab) => tab.id === id) ?? null
  return open[0] ?? null
}

export function SettingPage() {
  const { t } = useTranslation()
  const user = useSessionUser()
  const status = useStatus()
  // The router's parser makes every query a record of strings.
  const search: Record<string, string> = useSearch({ strict: false })
  const mayManage = mayManageOptions(user, status)
  const isRootOnly = isRoot(status.gatehouse?.options_min_role ?? Role.root)
  const open = tabs.filter((tab) => tab.isManaging !== true || mayManage)
  const shown = tabOf(search['tab'], open)
  useTitlePart(shown === null ? '' : t(shown.title))
  return (
    <Page title={t('设置')}>
      <nav className={styles['tabs']} aria-label={t('设置')}>
        {open.map(({ id, title }) => (
          <Link
            key={id}
            to={paths.setting}
            search={{ tab: id }}
            activeProps={{}}
            aria-current={id === shown?.id ? 'page' : undefined}
          >
            {t(title)}
          </Link>
        ))}
      </nav>
      {shown === null ? (
        <Empty
          sentence={
            isRootOnly
              ? t('只有超级管理员可以查看和修改这些设置')
              : t('只有管理员可以查看和修改这些设置')
          }
        />
      ) : (
        <Suspense fallback={<Loading prompt={t(shown.title)} />}>
          <shown.content key={shown.id} />
        </Suspense>
      )}
    </Page>
  )
}
