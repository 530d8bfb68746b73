import { usePagination } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import styles from './data-table.module.css'

interface PagerProps {
  /** First page 0. */
  page: number
  pageCount: number
  pageSize: number
  /** Rows in view. */
  shown: number
  total: number | null
  /** Page numbers on each side of the current one. */
  siblings: number
  isLoading: boolean
  onPage: (page: number) => void
}

export function Pager(props: PagerProps) {
  const { page, pageCount, pageSize, shown, total, siblings, isLoading, onPage } = props
  const { t } = useTranslation()
  const { range } = usePagination({ total: pageCount, page: page + 1, siblings, boundaries: 1 })
  const first = page * pageSize + 1
  const rows = `${first}–${first + shown - 1}`
  return (
    <nav className={styles['pager']} aria-label={t('分页')}>
      <span className={styles['range']}>
        {isLoading || shown === 0 ? '' : total === null ? rows : `${rows} / ${total}`}
      </span>
      {pageCount > 1 && (
        <>
          <button
            type="button"
            aria-label={t('上一页')}
            disabled={page === 0}
            onClick={() => onPage(page - 1)}
          >
            ‹
          </button>
          {range.map((item, i) =>
            item === 'dots' ? (
              // Dots have no identity but their place: before or after the current page.
              <span key={`dots-${i < 3 ? 'before' : 'after'}`} aria-hidden="true">
                …
              </span>
            ) : (
              <button
                key={item}
                type="button"
                aria-label={t('第 {{page}} 页', { page: item })}
                aria-current={item === page + 1 ? 'page' : undefined}
                onClick={() => onPage(item - 1)}
              >
                {item}
              </button>
            ),
          )}
          <button
            type="button"
            aria-label={t('下一页')}
            disabled={page >= pageCount - 1}
            onClick={() => onPage(page + 1)}
          >
            ›
          </button>
        </>
      )}
    </nav>
  )
}

interface StepperProps {
  /** First page 0. */
  page: number
  onFirst: () => void
  /** Absent: this is the first page. */
  onPrevious?: (() => void) | undefined
  /** Absent: this is the last page. */
  onNext?: (() => void) | undefined
}

/** For lists that know the next page only: one step at a time, or back to the beginning. */
export function Stepper({ page, onFirst, onPrevious, onNext }: StepperProps) {
  const { t } = useTranslation()
  return (
    <nav className={styles['pager']} aria-label={t('分页')}>
      <span className={styles['range']}>{t('第 {{page}} 页', { page: page + 1 })}</span>
      <button type="button" disabled={page === 0} onClick={onFirst}>
        {t('第一页')}
      </button>
      <button
        type="button"
        aria-label={t('上一页')}
        disabled={onPrevious === undefined}
        onClick={onPrevious}
      >
        ‹
      </button>
      <button
        type="button"
        aria-label={t('下一页')}
        disabled={onNext === undefined}
        onClick={onNext}
      >
        ›
      </button>
    </nav>
  )
}
