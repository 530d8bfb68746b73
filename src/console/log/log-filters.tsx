import { Button, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { LogType } from '../../contract/log.ts'
import { mark } from '../app/i18n.ts'
import { useHasFeature } from '../app/status.ts'
import { dayStart, nowSeconds, parseStamp, stampText } from '../app/time.ts'
import { ChoiceButtons } from '../ui/field/choice-buttons.tsx'
import { StampField } from '../ui/field/stamp-field.tsx'
import { FilterBar, FilterField } from '../ui/filter-bar.tsx'
import { leaveFocusBehind } from '../ui/table/focus-after.ts'
import { knownTypes, typeText } from './log-columns.tsx'
import { countSet, type FilterName, numberOf } from './log-filter.ts'
import type { LogList } from './log-list.ts'
import styles from './log.module.css'

/** Days before today on which a range begins; null for no limit. */
const ranges = [
  { label: mark('今天'), daysBefore: 0 },
  { label: mark('7 天'), daysBefore: 6 },
  { label: mark('30 天'), daysBefore: 29 },
  { label: mark('全部'), daysBefore: null },
]

function TypeFilter({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const chosen = numberOf(list.filters.type)
  // Channel tests have no user: only administrators have rows of them.
  const offered = knownTypes.filter((type) => list.isAdmin || type !== LogType.test)
  const types = chosen === LogType.all || offered.includes(chosen) ? offered : [...offered, chosen]
  return (
    <NativeSelect
      aria-label={t('日志类型')}
      value={String(chosen)}
      onChange={(event) => {
        const type = event.currentTarget.value
        list.setFilters({ type: Number(type) === LogType.all ? '' : type })
      }}
      data={[
        { value: String(LogType.all), label: t('全部类型') },
        ...types.map((type) => ({ value: String(type), label: typeText(type, t) })),
      ]}
    />
  )
}

function RangeButtons({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const { start, end } = list.filters
  const startOf = (daysBefore: number | null) =>
    daysBefore === null ? '' : String(dayStart(nowSeconds(), daysBefore))
  return (
    <ChoiceButtons
      label={t('时间范围')}
      choices={ranges.map(({ label, daysBefore }) => ({
        label: t(label),
        isChosen: end === '' && start === startOf(daysBefore),
        onChoose: () => list.setFilters({ start: startOf(daysBefore), end: '' }),
      }))}
    />
  )
}

function RangeFields({ list }: { list: LogList }) {
  const { t } = useTranslation()
  return (
    <div className={styles['stamps']}>
      <StampField
        label={t('开始时间')}
        value={numberOf(list.filters.start)}
        atZero={t('从头开始')}
        onCommit={(seconds) => list.setFilters({ start: seconds > 0 ? String(seconds) : '' })}
        format={stampText}
        parse={parseStamp}
        timeOfDay="00:00:00"
      />
      <span aria-hidden="true">→</span>
      <StampField
        label={t('结束时间')}
        value={numberOf(list.filters.end) || list.endSeconds}
        onCommit={(seconds) => list.setFilters({ end: String(seconds) })}
        format={stampText}
        parse={parseStamp}
        timeOfDay="23:59:59"
      />
    </div>
  )
}

function TextFilters({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const { filters, isAdmin, setFilters } = list
  const knowsBodies = useHasFeature()('log-bodies')
  const fields: { name: FilterName; label: string }[] = [
    { name: 'token_name', label: t('令牌名称') },
    { name: 'model_name', label: t('模型名称') },
    ...(isAdmin
      ? [
          { name: 'channel' as const, label: t('渠道 ID') },
          { name: 'username' as const, label: t('用户名或 #ID') },
        ]
      : []),
    { name: 'request_id', label: t('请求 ID') },
    ...(knowsBodies
      ? [
          { name: 'request' as const, label: t('请求内容') },
          { name: 'response' as const, label: t('响应内容') },
        ]
      : []),
  ]
  return fields.map(({ name, label }) => (
    <FilterField
      key={name}
      label={label}
      {...(name === 'channel' ? { notNumber: t('渠道 ID 须是数字') } : {})}
      value={filters[name]}
      onCommit={(value) => setFilters({ [name]: value })}
    />
  ))
}

const hideable: readonly FilterName[] = [
  'token_name',
  'model_name',
  'channel',
  'username',
  'request_id',
  'request',
  'response',
  'end',
]

/** On phones the fields are collapsed, so that the rows are visible. */
export function LogFilterBar({ list }: { list: LogList }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const set = countSet(list.filters, hideable)
  return (
    <FilterBar>
      <TypeFilter list={list} />
      <RangeButtons list={list} />
      <Button
        variant="default"
        className={styles['toggle'] ?? ''}
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {set === 0 ? t('更多筛选') : t('更多筛选 {{set}}', { set })}
      </Button>
      <div className={styles['fields']} data-open={isOpen}>
        <RangeFields list={list} />
        <div className={styles['texts']}>
          <TextFilters list={list} />
          <Button variant="default" onClick={list.table.refresh}>
            {t('查询')}
          </Button>
          {list.isFiltered && (
            <Button ref={leaveFocusBehind} variant="subtle" onClick={() => list.clearFilters()}>
              {t('清除筛选')}
            </Button>
          )}
        </div>
      </div>
    </FilterBar>
  )
}
