import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { call } from '../../app/call.ts'
import { useHasFeature } from '../../app/status.ts'
import { toast } from '../../app/toast.ts'
import { Action } from '../../ui/actions.tsx'
import { Tag } from '../../ui/marks.tsx'
import { Panel } from '../../ui/page.tsx'
import { LoadError } from '../../ui/states.tsx'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import styles from './personal.module.css'
import type { Setup } from './second-factor-dialog.tsx'

/** With the drawing of QR codes, which few visits of the page need. */
const dialogs = () => import('./second-factor-dialog.tsx')
const CodeDialog = lazy(async () => ({ default: (await dialogs()).CodeDialog }))
const EnrolDialog = lazy(async () => ({ default: (await dialogs()).EnrolDialog }))
const RecoveryCodes = lazy(async () => ({ default: (await dialogs()).RecoveryCodes }))

const STATUS = ['second-factor', 'self']

type Open = Setup | 'disable' | 'codes' | null

/** Two-factor sign-in of the own account: turn on, turn off, new recovery codes. */
export function SecondFactorPanel({ onEnabled }: { onEnabled?: () => void }) {
  const hasFeature = useHasFeature()
  return hasFeature('second-factor') ? <Offered onEnabled={onEnabled} /> : null
}

function Offered({ onEnabled }: { onEnabled: (() => void) | undefined }) {
  const { t } = useTranslation()
  const client = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: STATUS,
    queryFn: ({ signal }) => call('GET /api/user/2fa/status', {}, { signal }),
  })
  const [open, setOpen] = useState<Open>(null)
  const [fresh, setFresh] = useState<readonly string[]>([])
  const close = () => setOpen(null)
  const refresh = () => client.invalidateQueries({ queryKey: STATUS })
  async function setUp() {
    setOpen(await call('POST /api/user/2fa/setup'))
  }
  async function disable(code: string) {
    await call('POST /api/user/2fa/disable', { body: { code } }, { quiet: true })
    close()
    toast.success(t('两步验证已关闭'))
    await refresh()
  }
  async function replaceCodes(code: string) {
    const made = await call('POST /api/user/2fa/backup_codes', { body: { code } }, { quiet: true })
    close()
    setFresh(made.backup_codes)
    await refresh()
  }
  return (
    <Panel title={t('两步验证')}>
      {error !== null && data === undefined && (
        <LoadError what={t('两步验证')} error={error} onRetry={() => void refetch()} />
      )}
      <p className={styles['hint']}>
        {t('登录时除密码外，还需输入手机上身份验证器应用显示的验证码')}
      </p>
      {data?.enabled === true && (
        <>
          <p className={styles['standing']}>
            <Tag hue="green">{t('已启用')}</Tag>
            {t('剩余恢复码：{{count}} 个', { count: data.backup_codes_remaining })}
          </p>
          <p className={styles['hint']}>{t('换了手机：先关闭（可以用恢复码），再重新启用')}</p>
        </>
      )}
      <div className={styles['actions']}>
        {data?.enabled === false && <Action label={t('启用两步验证')} onClick={setUp} />}
        {data?.enabled === true && (
          <>
            <Action label={t('更换恢复码')} onClick={() => setOpen('codes')} />
            <Action label={t('关闭两步验证')} onClick={() => setOpen('disable')} />
          </>
        )}
      </div>
      <Suspense>
        {typeof open === 'object' && open !== null && (
          <EnrolDialog
            setup={open}
            onClose={close}
            onEnabled={async () => {
              close()
              toast.success(t('两步验证已启用'))
              await refresh()
              onEnabled?.()
            }}
          />
        )}
        {open === 'disable' && (
          <CodeDialog
            title={t('关闭两步验证')}
            submitLabel={t('关闭两步验证')}
            onCode={disable}
            onClose={close}
          />
        )}
        {open === 'codes' && (
          <CodeDialog
            title={t('更换恢复码')}
            submitLabel={t('更换')}
            onCode={replaceCodes}
            onClose={close}
          />
        )}
        {fresh.length > 0 && (
          <PlainDialog title={t('新的恢复码')} onClose={() => setFresh([])}>
            <p>{t('请保存这些恢复码，关闭后不再显示。以前的恢复码已经失效')}</p>
            <RecoveryCodes codes={fresh} />
          </PlainDialog>
        )}
      </Suspense>
    </Panel>
  )
}
