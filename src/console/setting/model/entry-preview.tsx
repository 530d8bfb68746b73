import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import type { MatchedModel } from '../../../contract/model-api.ts'
import { typeName } from '../../app/channel-type-name.ts'
import { call } from '../../app/call.ts'
import { Action } from '../../ui/actions.tsx'
import { capabilityChanges } from './capability-changes.ts'
import styles from './model.module.css'

/** Validates unsaved entries, and shows their effect on the served models. */
export function EntryPreview({ entries }: { entries: string }) {
  const { t } = useTranslation()
  const asking = useMutation({
    mutationFn: (text: string) =>
      call('POST /api/model-capabilities/preview', { body: { entries: text } }, { quiet: true }),
  })
  const isOld = asking.variables !== undefined && asking.variables !== entries
  return (
    <div className={styles['preview']}>
      <div className={styles['line']}>
        <Action
          size="sm"
          label={t('检查并预览')}
          onClick={() =>
            asking.mutateAsync(entries).then(
              () => {},
              () => {},
            )
          }
        />
        {isOld && <span className={styles['quiet']}>{t('内容已修改，请重新预览')}</span>}
      </div>
      <div aria-live="polite">
        {asking.error !== null && (
          <p role="alert" className={styles['failure']}>
            {asking.error.message}
          </p>
        )}
        {asking.data !== undefined && (
          <Outcome matched={asking.data.matched} unmatched={asking.data.unmatched} />
        )}
      </div>
    </div>
  )
}

interface OutcomeProps {
  matched: readonly MatchedModel[]
  unmatched: readonly string[]
}

function Outcome({ matched, unmatched }: OutcomeProps) {
  const { t } = useTranslation()
  return (
    <>
      <p className={styles['quiet']}>
        {matched.length === 0
          ? t('没有已启用渠道的模型与这些条目匹配')
          : t('匹配 {{count}} 个模型', { count: matched.length })}
      </p>
      {matched.length > 0 && (
        <ul className={styles['models']}>
          {matched.map((row) => (
            <Matched key={`${row.model} ${row.type}`} row={row} />
          ))}
        </ul>
      )}
      {unmatched.length > 0 && (
        <p className={styles['quiet']}>
          {t('没有匹配到模型的条目：')}
          {unmatched.map((name) => (
            <code key={name}>{name}</code>
          ))}
        </p>
      )}
    </>
  )
}

function Matched({ row }: { row: MatchedModel }) {
  const { t } = useTranslation()
  const changes = capabilityChanges(row.before, row.after)
  return (
    <li>
      <div className={styles['model']}>
        <code>{row.model}</code>
        <span className={styles['quiet']}>{typeName(row.type, t)}</span>
        <span className={styles['by']}>
          {t('条目')} <code>{row.entries.join(', ')}</code>
        </span>
      </div>
      {changes.length === 0 ? (
        <p className={styles['quiet']}>{t('没有变化')}</p>
      ) : (
        <dl className={styles['changes']}>
          {changes.map(({ member, before, after }) => (
            <div key={member}>
              <dt>{member}</dt>
              <dd>
                <del>{before || t('未知')}</del> <span aria-hidden="true">→</span>{' '}
                <ins>{after || t('未知')}</ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  )
}
