import { usePagination } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import styles from './data-table.module.css'

interface PagerProps {
  /** Counted from 0. */
  page: number
  pageCount: number
  pageSize: number
  /** Number of visible rows. */
  shown: number
  total: number | null
  /** Page numbers on each side of the current one. */
  siblings: number
  isLoading: boolean
  onPage: (page: number) => void
}

const counted = (count: number): string => count.toLocaleString('en-US')

export function Pager(props: PagerProps) {
  const { page, pageCount, pageSize, shown, total, siblings, isLoading, onPage } = props
  const { t } = useTranslation()
  const { range } = usePagination({ total: pageCount, page: page + 1, siblings, boundaries: 1 })
  const first = page * pageSize + 1
  const rows = `${counted(first)}–${counted(first + shown - 1)}`
  return (
    <nav className={styles['pager']} aria-label={t('分页')}>
      <span className={styles['range']}>
        {isLoading || shown === 0 ? '' : total === null ? rows : `${rows} / ${counted(total)}`}
      </span>
      {pageCount > 1 && (
        <>
          <Step label={t('上一页')} onClick={page === 0 ? undefined : () => onPage(page - 1)}>
            ‹
          </Step>
          {range.map((item, i) =>
            item === 'dots' ? (
              // An ellipsis is identified by its position: before or after the current page.
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
          <Step
            label={t('下一页')}
            onClick={page >= pageCount - 1 ? undefined : () => onPage(page + 1)}
          >
            ›
          </Step>
        </>
      )}
    </nav>
  )
}

interface StepperProps {
  /** Counted from 0. */
  page: number
  onFirst: () => void
  /** Undefined on the first page. */
  onPrevious?: (() => void) | undefined
  /** Undefined on the last page, or while the next one is loading. */
  onNext?: (() => void) | undefined
}

/** Pager for lists whose length is unknown: one page at a time, or back to the first. */
export function Stepper({ page, onFirst, onPrevious, onNext }: StepperProps) {
  const { t } = useTranslation()
  return (
    <nav className={styles['pager']} aria-label={t('分页')}>
      <span className={styles['range']}>{t('第 {{page}} 页', { page: page + 1 })}</span>
      <Step onClick={page === 0 ? undefined : onFirst}>{t('第一页')}</Step>
      <Step label={t('上一页')} onClick={onPrevious}>
        ‹
      </Step>
      <Step label={t('下一页')} onClick={onNext}>
        ›
      </Step>
    </nav>
  )
}

interface StepProps {
  /** Accessible name, if the button shows a symbol. */
  label?: string
  /** Undefined if there is no such page, or not yet. */
  onClick: (() => void) | undefined
  children: string
}

/** Stays focusable while inactive: a disabled button would lose the keyboard focus. */
function Step({ label, onClick, children }: StepProps) {
  return (
    <button
      type="button"
      aria-label={label}
      aria-disabled={onClick === undefined}
      onClick={onClick}
    >
      {children}
    </button>
  )
}
