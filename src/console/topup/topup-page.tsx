import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Input.layer.css'
import { Button, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../app/call-client.ts'
import { call, report } from '../app/call.ts'
import { Balance, OwedNote } from '../app/label/owed.tsx'
import { selfQuery } from '../app/self.ts'
import { useSessionUser } from '../app/session.ts'
import { useQuotaText, useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { BusyButton } from '../ui/busy/busy-button.tsx'
import { asTyped } from '../ui/field/as-typed.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { Page, Panel } from '../ui/page.tsx'
import { Skeleton } from '../ui/states.tsx'
import { newTransactionId, topUpAddress } from './top-up-link.ts'
import styles from './topup.module.css'

function Remaining() {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  const { data, error, refetch } = useQuery(selfQuery)
  return (
    <Panel title={t('剩余额度')}>
      <p className={styles['figure']}>
        {data !== undefined ? (
          <Balance quota={data.quota} />
        ) : (
          error === null && <Skeleton width={120} />
        )}
      </p>
      {data !== undefined && <OwedNote quota={data.quota} />}
      {(data !== undefined || error === null) && (
        <p className={styles['quiet']}>
          {data === undefined ? (
            <Skeleton width={80} />
          ) : (
            t('已用 {{used}}', { used: quotaText(data.used_quota) })
          )}
        </p>
      )}
      {data === undefined && error !== null && (
        <p className={styles['quiet']}>
          {error.message}{' '}
          <Button size="xs" variant="default" onClick={() => void refetch()}>
            {t('重试')}
          </Button>
        </p>
      )}
    </Panel>
  )
}

function useRedeem(onDone: () => void) {
  const { t } = useTranslation()
  const client = useQueryClient()
  const quotaText = useQuotaText()
  const [isBusy, setIsBusy] = useState(false)
  async function redeem(key: string) {
    setIsBusy(true)
    try {
      const quota = await call('POST /api/user/topup', { body: { key } }, { quiet: true })
      toast.success(t('充值成功！已增加 {{amount}}', { amount: quotaText(quota) }))
      onDone()
      await client.invalidateQueries({ queryKey: selfQuery.queryKey })
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      if (error.endsSession) return
      if (error.refused) {
        report(error)
        return
      }
      toast.error(t('请求失败：{{message}}', { message: error.message }))
      // Only the response may have been lost, so the balance is refreshed.
      void client.invalidateQueries({ queryKey: selfQuery.queryKey })
    } finally {
      setIsBusy(false)
    }
  }
  return { redeem, isBusy }
}

function RedeemForm() {
  const { t } = useTranslation()
  const id = useId()
  const [code, setCode] = useState('')
  const { redeem, isBusy } = useRedeem(() => setCode(''))
  function submit(event: FormEvent) {
    event.preventDefault()
    const key = code.trim()
    if (key === '') toast.warning(t('请输入兑换码！'))
    else void redeem(key)
  }
  return (
    <form className={styles['form']} onSubmit={submit} noValidate>
      <label htmlFor={id}>{t('输入兑换码')}</label>
      <div className={styles['line']}>
        <TextInput
          id={id}
          ref={focusFirst}
          className={styles['code'] ?? ''}
          autoComplete="off"
          {...asTyped}
          placeholder={t('粘贴兑换码')}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <BusyButton type="submit" isBusy={isBusy}>
          {t('兑换')}
        </BusyButton>
      </div>
    </form>
  )
}

function TopUpButton() {
  const { t } = useTranslation()
  const { top_up_link = '' } = useStatus()
  const user = useSessionUser()
  function open() {
    if (top_up_link === '') {
      toast.error(t('超级管理员未设置充值链接！'))
      return
    }
    const address = user === null ? null : topUpAddress(top_up_link, user, newTransactionId())
    if (address === null) toast.error(t('充值链接不是有效的网址，请联系管理员'))
    else window.open(address, '_blank', 'noopener')
  }
  return (
    <div className={styles['line']}>
      {top_up_link !== '' && <p className={styles['quiet']}>{t('没有兑换码？可在充值页面购买')}</p>}
      <Button variant="default" onClick={open}>
        {t('充值')}
      </Button>
    </div>
  )
}

export function TopUpPage() {
  const { t } = useTranslation()
  return (
    <Page title={t('充值')}>
      <div className={styles['panels']}>
        <Remaining />
        <Panel title={t('兑换额度')}>
          <div className={styles['ways']}>
            <RedeemForm />
            <TopUpButton />
          </div>
        </Panel>
      </div>
    </Page>
  )
}
