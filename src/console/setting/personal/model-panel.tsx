import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { availableModelsQuery } from '../../app/available-models.ts'
import { toast } from '../../app/toast.ts'
import { copyText } from '../../ui/copy/copy-text.ts'
import { Panel } from '../../ui/page.tsx'
import { LoadError, Skeleton } from '../../ui/states.tsx'
import styles from './personal.module.css'

/** Maximum number of names shown before expanding. */
const MODELS_MAX = 60

/** Models that the user can call; a click copies a name. */
export function ModelPanel() {
  const { t } = useTranslation()
  const { data: models, error, refetch } = useQuery(availableModelsQuery)
  return (
    <Panel title={t('可用模型')}>
      {error !== null && models === undefined && (
        <LoadError what={t('可用模型')} error={error} onRetry={() => void refetch()} />
      )}
      {error === null && models === undefined && <Skeleton width={320} />}
      {models?.length === 0 && <p className={styles['hint']}>{t('您的分组还没有可用的模型')}</p>}
      {models !== undefined && models.length > 0 && <Models models={models} />}
    </Panel>
  )
}

function Models({ models }: { models: readonly string[] }) {
  const { t } = useTranslation()
  const [showsAll, setShowsAll] = useState(false)
  async function copy(model: string) {
    if (await copyText(model)) toast.success(t('已复制：{{text}}', { text: model }))
    else toast.warning(t('无法复制到剪贴板，请手动复制'))
  }
  const shown = showsAll ? models : models.slice(0, MODELS_MAX)
  return (
    <>
      <p className={styles['hint']}>{t('点击模型名称即可复制')}</p>
      <ul className={styles['models']}>
        {shown.map((model) => (
          <li key={model}>
            <button type="button" onClick={() => void copy(model)}>
              {model}
            </button>
          </li>
        ))}
      </ul>
      {shown.length < models.length && (
        <button type="button" className={styles['more']} onClick={() => setShowsAll(true)}>
          {t('显示全部 {{total}} 个', { total: models.length })}
        </button>
      )}
    </>
  )
}
