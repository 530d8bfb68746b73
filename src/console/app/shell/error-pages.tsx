import { Link, type ErrorComponentProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { paths } from '../../paths.ts'
import type { PageAccess } from '../session.ts'
import { isMissingFile, MISSING_FILE } from '../routing/missing-files.ts'
import styles from './shell.module.css'

function Message({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={styles['message']}>
      <h1>{title}</h1>
      {children}
    </section>
  )
}

export function NotFoundPage() {
  const { t } = useTranslation()
  return (
    <Message title={t('页面不存在')}>
      <p>{t('页面不存在，请检查您的浏览器地址是否正确')}</p>
      <Link to={paths.home}>{t('返回首页')}</Link>
    </Message>
  )
}

export function ForbiddenPage({ access }: { access: PageAccess }) {
  const { t } = useTranslation()
  return (
    <Message title={t('无权访问')}>
      <p>
        {access === 'root'
          ? t('此页面仅限超级管理员使用')
          : t('此页面仅限管理员使用。如需权限，请联系管理员')}
      </p>
      <Link to={paths.home}>{t('返回首页')}</Link>
    </Message>
  )
}

/** Shown if a page fails to render or to load; after a failed load only a reload helps. */
export function BrokenPage({ error, reset }: ErrorComponentProps) {
  const { t } = useTranslation()
  const isMissing = isMissingFile(error)
  return (
    <Message title={isMissing ? t('页面无法显示') : t('页面出错了')}>
      <p>{isMissing ? t(MISSING_FILE) : error instanceof Error ? error.message : String(error)}</p>
      <button
        type="button"
        className={styles['textButton']}
        onClick={isMissing ? () => location.reload() : reset}
      >
        {t('重试')}
      </button>
    </Message>
  )
}
