import '@mantine/core/styles/Input.layer.css'
import { NativeSelect, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { groupNames } from '../../../contract/user.ts'
import { call } from '../../app/call.ts'
import { availableModelsQuery } from '../../app/available-models.ts'
import { selfQuery } from '../../app/self.ts'
import { useHasFeature } from '../../app/status.ts'
import { toast } from '../../app/toast.ts'
import { typeName } from '../../app/channel-type-name.ts'
import { CheckBox } from '../../ui/field/check-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { type WindowColumn, WindowTable } from '../../ui/scroll/window-table.tsx'
import { Empty, LoadError } from '../../ui/states.tsx'
import { useBlocks } from '../../ui/table/blocks.ts'
import {
  callDollars,
  dollars,
  type PriceRow,
  type PriceSource,
  readPriceList,
} from './price-list.ts'
import styles from './price.module.css'

/** A One API server returns ratios only with the settings, and only to root. */
async function loadPrices(hasPrices: boolean, signal: AbortSignal): Promise<PriceSource> {
  if (hasPrices) {
    const prices = await call('GET /api/prices', {}, { signal })
    return {
      model: prices.model_ratio,
      completion: prices.completion_ratio,
      group: prices.group_ratio,
      cache: prices.cache_ratio,
      perCall: prices.model_price,
      tiered: prices.tiered,
      otherwise: prices.default_model_ratio,
    }
  }
  const rows = await call('GET /api/option/', {}, { signal })
  const text = (name: string) => rows.find(({ key }) => key === name)?.value ?? ''
  return {
    model: text('ModelRatio'),
    completion: text('CompletionRatio'),
    group: text('GroupRatio'),
  }
}

function usePriceList() {
  const { t } = useTranslation()
  const hasPrices = useHasFeature()('prices')
  const { data, error, refetch } = useQuery({
    queryKey: ['prices', 'list', hasPrices],
    queryFn: ({ signal }) => loadPrices(hasPrices, signal),
  })
  const list = useMemo(() => (data === undefined ? undefined : readPriceList(data)), [data])
  useEffect(() => {
    if (list === null) toast.error(t('模型倍率不是有效的 JSON'))
  }, [list, t])
  return { list, error, retry: () => void refetch() }
}

/** The displayed group: the selected one, else the reader's own. */
function useGroup(groups: ReadonlyMap<string, string> | undefined) {
  const [chosen, setChosen] = useState<string | null>(null)
  const { data: self } = useQuery(selfQuery)
  const own = groupNames(self?.group ?? '').find((name) => groups?.has(name) === true)
  return [chosen ?? own ?? 'default', setChosen] as const
}

/** The model name, with notes on its price below it. */
function Model({ row }: { row: PriceRow }) {
  const { t } = useTranslation()
  const notes = [
    ...(row.type === null ? [] : [t('仅 {{type}} 渠道', { type: typeName(row.type, t) })]),
    ...(row.cached === null || row.perCall !== null
      ? []
      : [t('缓存命中 {{price}}', { price: dollars(row.ratio, row.cached) })]),
    ...(row.isTiered ? [t('长提示另计')] : []),
  ]
  const note = notes.join(t('，'))
  return (
    <span className={styles['model']}>
      <code title={row.name}>{row.name}</code>
      {note !== '' && <span title={note}>{note}</span>}
    </span>
  )
}

function useColumns(group: string, groupRatio: string): WindowColumn<PriceRow>[] {
  const { t } = useTranslation()
  const isBlocks = useBlocks()
  const aCall = (price: string) => t('{{price}} / 次', { price })
  const prompt = (row: PriceRow) =>
    row.perCall === null ? dollars(row.ratio) : aCall(callDollars(row.perCall))
  const ofGroup = (row: PriceRow) =>
    row.perCall === null
      ? `${dollars(row.ratio, groupRatio)} / ${completionText(row, groupRatio)}`
      : aCall(callDollars(row.perCall, groupRatio))
  const name: WindowColumn<PriceRow> = {
    id: 'name',
    head: t('模型名称'),
    cell: (row) => <Model row={row} />,
  }
  const price: WindowColumn<PriceRow> = {
    id: 'price',
    head: t('平均价格，每 1M tokens'),
    align: 'end',
    width: 190,
    cell: prompt,
  }
  if (isBlocks) {
    return [
      {
        ...name,
        cell: (row) => (
          <div className={styles['block']}>
            <Model row={row} />
            <span className={styles['inGroup']} title={group}>
              <span>{t('{{group}} 分组', { group })}</span> <span>{ofGroup(row)}</span>
            </span>
          </div>
        ),
      },
      {
        ...price,
        head: t('平均价格'),
        width: 160,
        cell: (row) => (
          <div className={styles['block']}>
            {prompt(row)}
            {row.perCall === null ? (
              <>
                <span>{t('补全 {{price}}', { price: completionText(row) })}</span>
                <span>{t('倍率 {{ratio}}', { ratio: row.ratio })}</span>
              </>
            ) : (
              <span>{t('按次计价')}</span>
            )}
          </div>
        ),
      },
    ]
  }
  return [
    name,
    {
      id: 'ratio',
      head: t('模型倍率'),
      align: 'end',
      width: 110,
      cell: (row) => (row.perCall === null ? row.ratio : '–'),
    },
    price,
    {
      id: 'completion',
      head: t('补全价格，每 1M tokens'),
      align: 'end',
      width: 210,
      cell: (row) => completionText(row),
    },
    {
      id: 'group',
      head: t('{{group}} 分组：提示 / 补全', { group }),
      align: 'end',
      width: 230,
      cell: (row) => <span className={styles['ofGroup']}>{ofGroup(row)}</span>,
    },
  ]
}

const completionText = (row: PriceRow, groupRatio = '1'): string =>
  row.completion === null || row.perCall !== null
    ? '–'
    : dollars(row.ratio, row.completion, groupRatio)

/** Models that the reader can call; by default only these are shown. */
function useCallable() {
  const { data: models } = useQuery(availableModelsQuery)
  const [isOnly, setIsOnly] = useState<boolean | null>(null)
  const callable = useMemo(() => new Set(models), [models])
  return { callable, isOnly: callable.size > 0 && (isOnly ?? true), setIsOnly }
}

const BLOCK_ROW = 72
const WIDE_ROW = 52

/** Model prices for all users. */
export function PriceSettings() {
  const { t } = useTranslation()
  const { list, error, retry } = usePriceList()
  const [keyword, setKeyword] = useState('')
  const [group, setGroup] = useGroup(list?.groups)
  const groupRatio = list?.groups.get(group) ?? '1'
  const columns = useColumns(group, groupRatio)
  const { callable, isOnly, setIsOnly } = useCallable()
  // After a failed refresh the previous prices stay.
  if (error !== null && list === undefined) {
    return <LoadError what={t('模型价格')} error={error} onRetry={retry} />
  }
  if (list === undefined) return <Loading prompt={t('模型价格')} />
  if (list === null) return <Empty sentence={t('模型倍率不是有效的 JSON')} />
  const word = keyword.trim().toLowerCase()
  const shown = list.rows.filter(
    ({ name }) => (!isOnly || callable.has(name)) && name.toLowerCase().includes(word),
  )
  const groups = [...new Set([...list.groups.keys(), group])]
  const isBlock = columns.length === 2
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
        <NativeSelect
          aria-label={t('分组')}
          value={group}
          onChange={(event) => setGroup(event.currentTarget.value)}
          data={groups.map((name) => ({
            value: name,
            label: t('{{group}} 分组 × {{ratio}}', {
              group: name,
              ratio: list.groups.get(name) ?? '1',
            }),
          }))}
        />
        {callable.size > 0 && (
          <label className={styles['only']}>
            <CheckBox isOn={isOnly} onChange={setIsOnly} />
            {t('只看可调用的模型')}
          </label>
        )}
        <span className={styles['count']}>{t('{{count}} 个', { count: shown.length })}</span>
      </div>
      <div className={styles['surface']}>
        <WindowTable
          label={t('模型价格')}
          columns={columns}
          rows={shown}
          rowKey={({ name, type }) => `${name} ${type ?? ''}`}
          rowHeight={isBlock ? BLOCK_ROW : WIDE_ROW}
          minWidth={isBlock ? 0 : 880}
          empty={
            keyword === ''
              ? t('还没有模型价格')
              : t('没有名称含有「{{keyword}}」的模型', { keyword })
          }
        />
      </div>
      <p className={styles['note']}>
        {t('按张计价的图片，一张算 1000 个提示 tokens；按秒计价的录音，一分钟算 1000 个')}
        {list.otherwise !== '' &&
          t('。没有列出的模型：{{price}}', { price: dollars(list.otherwise) })}
      </p>
    </>
  )
}
