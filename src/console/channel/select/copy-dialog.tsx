import '@mantine/core/styles/Button.layer.css'
import { Button } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../../contract/channel-api.ts'
import type { CopyReport } from '../../../contract/channel-batch-api.ts'
import { COPY_FIELDS, type CopyField, hasCopyField } from '../../../contract/channel-copy.ts'
import { call } from '../../app/call.ts'
import type { PagedList } from '../../app/list/paged-list.ts'
import { BusyButton } from '../../ui/busy/busy-button.tsx'
import { CheckBox } from '../../ui/field/check-box.tsx'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import { LoadError, Skeleton } from '../../ui/states.tsx'
import { CopyChanges } from './copy-changes.tsx'
import { copyFieldName } from './copy-field-name.ts'
import { CopySource } from './copy-source.tsx'
import { useReportResult } from './report-result.ts'
import styles from './copy-dialog.module.css'

interface CopyDialogProps {
  channels: readonly Channel[]
  list: PagedList<Channel>
  forget: (ids: readonly number[]) => void
  onClose: () => void
}

interface FieldTicksProps {
  source: Channel
  fields: readonly CopyField[]
  onChange: (fields: CopyField[]) => void
}

function FieldTicks({ source, fields, onChange }: FieldTicksProps) {
  const { t } = useTranslation()
  return (
    <fieldset className={styles['fields']}>
      <legend>{t('要复制的字段')}</legend>
      {COPY_FIELDS.filter((field) => hasCopyField(source.type, field)).map((field) => (
        <label key={field}>
          <CheckBox
            isOn={fields.includes(field)}
            onChange={(isOn) =>
              // In display order, regardless of the order of the clicks.
              onChange(COPY_FIELDS.filter((one) => (one === field ? isOn : fields.includes(one))))
            }
          />
          {copyFieldName(field, source.type, t)}
        </label>
      ))}
    </fieldset>
  )
}

/** The server's preview of a copy, requested again after every change. */
function usePreview(
  source: Channel | null,
  targets: readonly number[],
  fields: readonly CopyField[],
) {
  const source_id = source?.id ?? 0
  const isAsked = source !== null && targets.length > 0 && fields.length > 0
  return useQuery<CopyReport>({
    queryKey: ['channel-copy', source_id, fields, targets],
    queryFn: ({ signal }) =>
      call(
        'POST /api/channel/batch/copy',
        { body: { source_id, ids: [...targets], fields: [...fields], dry_run: true } },
        { signal, background: true },
      ),
    enabled: isAsked,
    staleTime: 0,
    gcTime: 0,
    placeholderData: keepPreviousData,
  })
}

/** Why copying is not possible yet; null if it is. */
function useCopyBlocker(asked: {
  source: Channel | null
  targets: readonly number[]
  fields: readonly CopyField[]
  report: CopyReport | undefined
}): string | null {
  const { t } = useTranslation()
  const { source, targets, fields, report } = asked
  if (source === null) return t('请选择来源渠道')
  if (targets.length === 0) return t('除来源之外，请至少再选中一个渠道')
  if (fields.length === 0) return t('请勾选要复制的字段')
  if (report === undefined) return t('正在比较…')
  return report.changed === 0 ? t('所有渠道都与来源一致，没有可复制的内容') : null
}

/** Copies fields of one channel to the selected ones, after showing the changes. */
export function CopyDialog({ channels, list, forget, onClose }: CopyDialogProps) {
  const { t } = useTranslation()
  const tell = useReportResult()
  const [source, setSource] = useState<Channel | null>(null)
  const [ticked, setTicked] = useState<CopyField[]>([])
  const fields = ticked.filter((field) => source !== null && hasCopyField(source.type, field))
  const targets = channels.map(({ id }) => id).filter((id) => id !== source?.id)
  const preview = usePreview(source, targets, fields)
  const isAsked = source !== null && targets.length > 0 && fields.length > 0
  const report = isAsked ? preview.data : undefined
  const denialReason = useCopyBlocker({ source, targets, fields, report })
  const copying = useMutation({
    mutationFn: () =>
      call('POST /api/channel/batch/copy', {
        body: { source_id: source?.id ?? 0, ids: targets, fields },
      }),
    onSuccess: ({ changed, missing }) => {
      forget(missing)
      list.refresh()
      tell(t('已更新 {{count}} 个渠道', { count: changed }), missing.length)
      onClose()
    },
  })
  const isReady = denialReason === null && !preview.isPlaceholderData && preview.error === null
  return (
    <PlainDialog
      isWide
      title={t('复制字段到 {{count}} 个渠道', { count: targets.length })}
      onClose={onClose}
    >
      <div className={styles['question']}>
        <CopySource chosen={channels} source={source} onPick={setSource} />
        {source !== null && <FieldTicks source={source} fields={fields} onChange={setTicked} />}
      </div>
      <p className={styles['promise']}>
        {t(
          '只改动勾选的字段，其余保持不变。密钥、名称、余额和用量从不复制；地址和代理要随密钥一起填写，请逐个修改',
        )}
      </p>
      <div className={styles['outcome']} aria-busy={preview.isFetching} tabIndex={-1}>
        {isAsked && preview.error !== null && (
          <LoadError
            isAlert
            what={t('将要发生的变化')}
            error={preview.error}
            onRetry={() => void preview.refetch()}
          />
        )}
        {isAsked && preview.isPending && <Skeleton width={320} />}
        {preview.error === null && !preview.isLoading && (
          <p className={styles['why']} aria-live="polite">
            {denialReason}
          </p>
        )}
        {report !== undefined && source !== null && preview.error === null && (
          <CopyChanges report={report} sourceType={source.type} />
        )}
      </div>
      <div className={styles['foot']}>
        <Button variant="default" onClick={onClose}>
          {t('取消')}
        </Button>
        <BusyButton isIdle={!isReady} isBusy={copying.isPending} onClick={() => copying.mutate()}>
          {report === undefined || report.changed === 0
            ? t('应用')
            : t('应用到 {{count}} 个渠道', { count: report.changed })}
        </BusyButton>
      </div>
    </PlainDialog>
  )
}
