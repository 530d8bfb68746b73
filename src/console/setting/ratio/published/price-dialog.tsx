import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { createPortal } from 'react-dom'
import { useTranslation } from 'react-i18next'
import type { PublishedPrice } from '../../../../contract/price-api.ts'
import { call } from '../../../app/call.ts'
import { toast } from '../../../app/toast.ts'
import { BusyButton } from '../../../ui/busy/busy-button.tsx'
import { isComposing } from '../../../ui/field/composing.ts'
import { LoadError, Skeleton } from '../../../ui/states.tsx'
import { PlainDialog } from '../../../ui/float/plain-dialog.tsx'
import { useRefreshOptions } from '../../option/options.ts'
import { PriceRows } from './price-rows.tsx'
import { priceSources } from './price-sources.ts'
import styles from './published.module.css'

interface SourceFormProps {
  isBusy: boolean
  onAsk: (address: string) => void
}

function SourceForm({ isBusy, onAsk }: SourceFormProps) {
  const { t } = useTranslation()
  const [id, setId] = useState('models.dev')
  const [typed, setTyped] = useState('')
  const known = priceSources.find((source) => source.id === id)?.address ?? null
  const address = known ?? typed.trim()
  const canAsk = known !== null || address !== ''
  // Not a form, because it is inside the form of the settings.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && canAsk && !isComposing(event)) onAsk(address)
  }
  return (
    <div className={styles['question']}>
      <NativeSelect
        label={t('价格来源')}
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
        data={priceSources.map((source) => ({ value: source.id, label: t(source.label) }))}
      />
      {known === null && (
        <TextInput
          className={styles['address'] ?? ''}
          label={t('地址')}
          type="url"
          placeholder="https://gateway.example.com/api/pricing"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      )}
      <BusyButton isIdle={!canAsk} isBusy={isBusy} onClick={() => onAsk(address)}>
        {t('获取')}
      </BusyButton>
    </div>
  )
}

/** Compares with a list, and applies the selected prices. */
export function PriceDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation()
  const client = useQueryClient()
  const refreshOptions = useRefreshOptions()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const asking = useMutation({
    mutationFn: (address: string) =>
      call('GET /api/prices/published', { query: { address } }, { background: true }),
    onMutate: () => setChosen(new Set()),
  })
  const setting = useMutation({
    mutationFn: (rows: readonly PublishedPrice[]) =>
      call('PUT /api/prices/', {
        body: { rows: rows.map(({ name, listed }) => ({ name, ...listed })) },
      }),
    onSuccess: async (_nothing, rows) => {
      await Promise.all([refreshOptions(), client.invalidateQueries({ queryKey: ['prices'] })])
      toast.success(t('已更新 {{count}} 个模型的价格', { count: rows.length }))
      onClose()
    },
  })
  const rows = asking.data?.rows ?? []
  const picked = rows.filter(({ name }) => chosen.has(name))
  // In a portal outside the settings' form, which Enter in a field would submit.
  return createPortal(
    <PlainDialog isWide title={t('对照公开价格')} onClose={onClose}>
      <SourceForm isBusy={asking.isPending} onAsk={(address) => asking.mutate(address)} />
      <p className={styles['promise']}>
        {t(
          '由服务器获取，只显示与现价不同的模型，价格以每 1M tokens 计。勾选并应用之前不会改动任何价格；按次计价的模型不在其中',
        )}
      </p>
      <div className={styles['outcome']} aria-live="polite" aria-busy={asking.isPending}>
        {asking.isPending && <Skeleton width={320} />}
        {asking.error !== null && (
          <LoadError
            what={t('公开价格')}
            error={asking.error}
            onRetry={() => asking.mutate(asking.variables)}
          />
        )}
        {asking.data !== undefined && (
          <PriceRows found={asking.data} chosen={chosen} onChoose={setChosen} />
        )}
      </div>
      <div className={styles['foot']}>
        <Button variant="default" onClick={onClose}>
          {t('取消')}
        </Button>
        <BusyButton
          isIdle={picked.length === 0}
          isBusy={setting.isPending}
          onClick={() => setting.mutate(picked)}
        >
          {picked.length === 0 ? t('应用') : t('应用 {{count}} 个价格', { count: picked.length })}
        </BusyButton>
      </div>
    </PlainDialog>,
    document.body,
  )
}
