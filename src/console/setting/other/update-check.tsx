import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Release } from '../../../contract/release-api.ts'
import { CallFailure } from '../../app/call-client.ts'
import { call } from '../../app/call.ts'
import { useStatus } from '../../app/status.ts'
import { Action } from '../../ui/actions.tsx'
import { RichText } from '../../ui/rich-text.tsx'
import styles from '../option/option.module.css'

/** Checks for a newer release through the server. */
export function UpdateCheck() {
  const { t } = useTranslation()
  const status = useStatus()
  const [release, setRelease] = useState<Release | null>(null)
  const [failure, setFailure] = useState('')
  async function check() {
    setFailure('')
    try {
      setRelease(await call('GET /api/release', {}, { quiet: true }))
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      // A missing repository setting does not count as a failed check.
      setFailure(error.message)
    }
  }
  return (
    <div className={styles['panel']}>
      <div className={styles['line']}>
        <Action size="sm" label={t('检查更新')} onClick={check} />
        <output>
          {release === null
            ? t('当前版本 {{version}}', { version: status.version ?? '' })
            : release.is_newer
              ? t('有新版本：{{tag}}，当前版本 {{version}}', {
                  tag: release.tag_name,
                  version: release.current,
                })
              : t('已是最新版本：{{version}}', { version: release.current })}
        </output>
      </div>
      {failure !== '' && (
        <p role="alert" className={styles['failure']}>
          {failure}
        </p>
      )}
      {release?.is_newer === true && <ReleaseNotes release={release} />}
    </div>
  )
}

function ReleaseNotes({ release }: { release: Release }) {
  const { t } = useTranslation()
  return (
    <>
      <div className={styles['notes']}>
        <RichText text={release.body} />
      </div>
      {release.html_url !== '' && (
        <a href={release.html_url} target="_blank" rel="noopener noreferrer nofollow">
          {t('查看发布页')}
        </a>
      )}
    </>
  )
}
