import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { call } from '../../app/call.ts'
import { toast } from '../../app/toast.ts'
import { LoadError, Skeleton } from '../../ui/states.tsx'
import option from '../option/option.module.css'
import styles from './model.module.css'

const KEY = ['model-data']
const ADDRESS = 'https://models.dev/api.json'

/** Shows the source of the model data, compares it with models.dev, and refreshes it. */
export function ModelData() {
  const { t } = useTranslation()
  const client = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => call('GET /api/model-capabilities', {}, { signal }),
  })
  const comparing = useMutation({
    mutationFn: () =>
      call(
        'POST /api/model-capabilities/refresh',
        { body: { address: ADDRESS, dry_run: true } },
        { quiet: true },
      ),
  })
  const done = async () => {
    comparing.reset()
    await client.invalidateQueries({ queryKey: KEY })
    toast.success(t('操作成功完成！'))
  }
  const applying = useMutation({
    mutationFn: () =>
      call('POST /api/model-capabilities/refresh', { body: { address: ADDRESS, dry_run: false } }),
    onSuccess: done,
  })
  const resetting = useMutation({
    mutationFn: () => call('DELETE /api/model-capabilities/refresh', {}),
    onSuccess: done,
  })
  if (error !== null && data === undefined) {
    return <LoadError what={t('模型数据')} error={error} onRetry={() => void refetch()} />
  }
  if (data === undefined) return <Skeleton width={320} />
  const found = comparing.data
  const isSame =
    found !== undefined && found.added.length + found.changed.length + found.removed.length === 0
  return (
    <div className={`${option['panel']} ${styles['data']}`}>
      <p>
        {data.source}
        <span className={styles['quiet']}>{t('{{count}} 个模型', { count: data.models })}</span>
      </p>
      <div className={styles['line']}>
        <Button
          size="sm"
          variant="default"
          loading={comparing.isPending}
          onClick={() => comparing.mutate()}
        >
          {t('从 models.dev 更新')}
        </Button>
        {data.is_refreshed && (
          <Button
            size="sm"
            variant="default"
            loading={resetting.isPending}
            onClick={() => resetting.mutate()}
          >
            {t('恢复此版本内置的数据')}
          </Button>
        )}
      </div>
      <div aria-live="polite">
        {comparing.error !== null && (
          <p role="alert" className={styles['failure']}>
            {comparing.error.message}
          </p>
        )}
        {isSame && <p className={styles['quiet']}>{t('已是最新')}</p>}
        {found !== undefined && !isSame && (
          <>
            <Names
              label={t('新增 {{count}} 个', { count: found.added.length })}
              names={found.added}
            />
            <Names
              label={t('变化 {{count}} 个', { count: found.changed.length })}
              names={found.changed}
            />
            <Names
              label={t('移除 {{count}} 个', { count: found.removed.length })}
              names={found.removed}
            />
            <Button size="sm" loading={applying.isPending} onClick={() => applying.mutate()}>
              {t('应用')}
            </Button>
          </>
        )}
      </div>
    </div>
  )
}

function Names({ label, names }: { label: string; names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <details className={styles['names']}>
      <summary>{label}</summary>
      <p>
        {names.map((name) => (
          <code key={name}>{name}</code>
        ))}
      </p>
    </details>
  )
}
