import { Button, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from '../../app/toast.ts'
import { isComposing } from '../../ui/field/composing.ts'
import { WindowTable, type WindowColumn } from '../../ui/scroll/window-table.tsx'
import {
  figureOf,
  type ModelPrice,
  modelPrices,
  type PriceContext,
  type PriceField,
  type PriceTexts,
  withoutModel,
  withPrice,
} from './model-price.ts'
import { RatioCell } from './ratio-cell.tsx'
import styles from './ratio.module.css'

interface ModelTableProps {
  texts: PriceTexts
  onChange: (texts: PriceTexts) => void
  /** Completion ratios that are inferred from the model name. */
  byName: ReadonlyMap<string, string>
  context: PriceContext
  /** Action on all prices. */
  action: ReactNode
}

function useColumns({ texts, onChange, byName }: ModelTableProps): WindowColumn<ModelPrice>[] {
  const { t } = useTranslation()
  const set = (name: string, field: PriceField) => (text: string) => {
    const edit = withPrice(texts, name, { field, text })
    if (edit.texts === undefined) {
      toast.error(t('「{{name}}」：{{problem}}', { name, problem: t(edit.problem) }))
      return false
    }
    onChange(edit.texts)
    if (edit.isCut) toast.info(t('倍率除不尽，已截取到 15 位有效数字'))
    return true
  }
  const figure = (field: PriceField, head: string, width: number): WindowColumn<ModelPrice> => ({
    id: field,
    head,
    align: 'end',
    width,
    cell: (row) => (
      <RatioCell
        label={t('「{{name}}」的{{head}}', { name: row.name, head })}
        value={figureOf(row, field)}
        placeholder={field === 'completion' ? (byName.get(row.name) ?? '') : ''}
        onCommit={set(row.name, field)}
      />
    ),
  })
  return [
    { id: 'name', head: t('模型'), cell: (row) => <Name row={row} /> },
    figure('model', t('模型倍率'), 92),
    figure('promptPrice', t('提示 $/1M'), 92),
    figure('completion', t('补全倍率'), 92),
    figure('completionPrice', t('补全 $/1M'), 92),
    ...(texts.cache === undefined ? [] : [figure('cache', t('缓存倍率'), 84)]),
    {
      id: 'remove',
      head: <span className="sr-only">{t('操作')}</span>,
      width: 72,
      align: 'end',
      cell: ({ name }) => (
        <button
          type="button"
          className={styles['remove']}
          aria-label={t('删除「{{name}}」', { name })}
          onClick={() => onChange(withoutModel(texts, name))}
        >
          {t('删除')}
        </button>
      ),
    },
  ]
}

function Name({ row }: { row: ModelPrice }) {
  const { t } = useTranslation()
  const conflict = row.conflicts.map((text) => t(text)).join(t('；'))
  const namesake = row.hasNamesake
    ? t('与另一个价格不同的名称只差大小写或空格，计费时按原样区分')
    : ''
  const far = row.isFarFromBuiltIn ? t('与内置价格相差 20 倍以上') : ''
  const unpriced = row.isUnpriced ? t('已启用的渠道提供此模型，但没有价格，调用会被拒绝') : ''
  const said = [conflict, unpriced, far, namesake].filter((text) => text !== '').join(t('；'))
  const [mark, kind] = row.isRepeated
    ? [t('重复'), 'conflict']
    : unpriced !== ''
      ? [t('没有价格'), 'conflict']
      : far !== ''
        ? [t('相差 20 倍以上'), 'conflict']
        : conflict !== ''
          ? [t('不生效'), 'namesake']
          : [t('名称相近'), 'namesake']
  return (
    <code className={styles['name']} title={said === '' ? row.name : `${row.name}: ${said}`}>
      <span className={styles['nameText']}>{row.name}</span>
      {said !== '' && (
        <span className={styles[kind]}>
          {mark}
          <span className="sr-only">{said}</span>
        </span>
      )}
    </code>
  )
}

type Only = 'repeated' | 'idle' | 'unpriced'

/** Entries without effect are not errors: a new installation contains some. */
const IS_OF: Record<Only, (row: ModelPrice) => boolean> = {
  unpriced: (row) => row.isUnpriced,
  repeated: (row) => row.isRepeated,
  idle: (row) => row.conflicts.length > 0 && !row.isRepeated,
}

const isAmong = (row: ModelPrice, only: Only | null): boolean => only === null || IS_OF[only](row)

interface FilterProps {
  rows: readonly ModelPrice[]
  only: Only | null
  onChange: (only: Only | null) => void
}

/** Buttons that filter rows that need attention; empty if there are no such rows. */
function Filters({ rows, only, onChange }: FilterProps) {
  const { t } = useTranslation()
  const count = (kind: Only): number => rows.filter((row) => isAmong(row, kind)).length
  const filters: { kind: Only; label: string; count: number }[] = [
    {
      kind: 'unpriced',
      label: t('{{count}} 个没有价格', { count: count('unpriced') }),
      count: count('unpriced'),
    },
    {
      kind: 'repeated',
      label: t('{{count}} 处重复', { count: count('repeated') }),
      count: count('repeated'),
    },
    {
      kind: 'idle',
      label: t('{{count}} 项缺少模型倍率，不生效', { count: count('idle') }),
      count: count('idle'),
    },
  ]
  return (
    <span className={styles['filters']}>
      {filters
        .filter((filter) => filter.count > 0)
        .map(({ kind, label }) => (
          <button
            key={kind}
            type="button"
            className={styles['filter']}
            aria-pressed={only === kind}
            onClick={() => onChange(only === kind ? null : kind)}
          >
            {label}
          </button>
        ))}
    </span>
  )
}

/** Table of model prices, as ratios and in dollars; every figure is editable. */
export function ModelTable(props: ModelTableProps) {
  const { texts, onChange, context } = props
  const { t } = useTranslation()
  const [keyword, setKeyword] = useState('')
  const [wanted, setWanted] = useState<Only | null>(null)
  const rows = useMemo(() => modelPrices(texts, context), [texts, context])
  const columns = useColumns(props)
  if (rows === null) {
    return (
      <output className={styles['unreadable']}>{t('不是有效的 JSON，改正之前表格不可用')}</output>
    )
  }
  const word = keyword.trim().toLowerCase()
  // When the last such row is corrected, all rows are shown again.
  const only = rows.some((row) => isAmong(row, wanted)) ? wanted : null
  const shown = rows.filter((row) => isAmong(row, only) && row.name.toLowerCase().includes(word))
  return (
    <>
      <div className={styles['tools']}>
        <TextInput
          className={styles['search'] ?? ''}
          type="search"
          aria-label={t('搜索模型')}
          placeholder={t('搜索模型')}
          value={keyword}
          onChange={(event) => setKeyword(event.currentTarget.value)}
        />
        <span className={styles['count']}>{t('{{count}} 个', { count: shown.length })}</span>
        <Filters rows={rows} only={only} onChange={setWanted} />
        {props.action}
      </div>
      <WindowTable
        label={t('模型价格')}
        columns={columns}
        rows={shown}
        rowKey={({ name }) => name}
        minWidth={740}
        empty={t('没有名称含有「{{keyword}}」的模型', { keyword })}
      />
      <AddModel
        known={rows}
        onAdd={(name, price) => {
          const edit = withPrice(texts, name, { field: 'promptPrice', text: price })
          if (edit.texts === undefined) return t(edit.problem)
          onChange(edit.texts)
          setKeyword(name)
          return ''
        }}
      />
    </>
  )
}

interface AddModelProps {
  known: readonly ModelPrice[]
  /** Returns an error, or empty if the model was added. */
  onAdd: (name: string, price: string) => string
}

function AddModel({ known, onAdd }: AddModelProps) {
  const { t } = useTranslation()
  const [name, setName] = useState('')
  const [price, setPrice] = useState('')
  const [problem, setProblem] = useState('')
  function add(event: FormEvent | React.KeyboardEvent) {
    event.preventDefault()
    const typed = name.trim()
    const wrong =
      typed === ''
        ? t('请输入模型名称')
        : known.some((row) => row.name === typed && row.model !== '')
          ? t('「{{name}}」已经有价格了', { name: typed })
          : price.trim() === ''
            ? t('请输入价格')
            : onAdd(typed, price)
    setProblem(wrong)
    if (wrong !== '') return
    setName('')
    setPrice('')
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter' && !isComposing(event)) add(event)
  }
  return (
    <div className={styles['add']}>
      <TextInput
        aria-label={t('新模型的名称')}
        placeholder={t('新模型的名称')}
        autoComplete="off"
        spellCheck={false}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <TextInput
        className={styles['price'] ?? ''}
        aria-label={t('提示价格，$/1M')}
        placeholder={t('提示 $/1M')}
        inputMode="decimal"
        autoComplete="off"
        value={price}
        onChange={(event) => setPrice(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Button variant="default" onClick={add}>
        {t('添加')}
      </Button>
      {problem !== '' && (
        <p role="alert" className={styles['problem']}>
          {problem}
        </p>
      )}
    </div>
  )
}
