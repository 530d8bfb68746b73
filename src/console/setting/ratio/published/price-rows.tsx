import { TextInput } from '@mantine/core'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ListedRatios, PublishedPrice } from '../../../../contract/price-api.ts'
import { CheckBox } from '../../../ui/field/check-box.tsx'
import { WindowTable, type WindowColumn } from '../../../ui/scroll/window-table.tsx'
import { useBlocks } from '../../../ui/table/blocks.ts'
import { isSuspicious, shownPrice, shownRows } from './price-difference.ts'
import styles from './published.module.css'

interface PriceRowsProps {
  found: { rows: PublishedPrice[]; same: number; left_out: number }
  /** Selected model names. */
  chosen: ReadonlySet<string>
  onChoose: (names: ReadonlySet<string>) => void
}

/** Prompt, completion and cached price; highlights differences from `before`. */
function Price({ ratios, before }: { ratios: ListedRatios | null; before?: ListedRatios | null }) {
  const { t } = useTranslation()
  if (ratios === null) return <span className={styles['quiet']}>{t('没有价格')}</span>
  const shown = shownPrice(ratios)
  const was = before === undefined || before === null ? null : shownPrice(before)
  const figures = [
    { id: 'prompt', text: shown.prompt, was: was?.prompt },
    { id: 'completion', text: shown.completion, was: was?.completion },
    { id: 'cached', text: shown.cached, was: was?.cached },
  ]
  return (
    <span className={styles['figures']}>
      {figures.map(({ id, text, was: old }) => (
        <span
          key={id}
          data-changed={(old !== undefined && text !== '' && text !== old) || undefined}
        >
          {text === '' ? '–' : text}
        </span>
      ))}
    </span>
  )
}

function Name({ row }: { row: PublishedPrice }) {
  const { t } = useTranslation()
  return (
    <span className={styles['name']}>
      <code title={row.name}>{row.name}</code>
      {isSuspicious(row) && <span className={styles['far']}>{t('相差 20 倍以上')}</span>}
    </span>
  )
}

function useColumns(
  box: (row: PublishedPrice) => React.ReactNode,
  headBox: React.ReactNode,
): WindowColumn<PublishedPrice>[] {
  const { t } = useTranslation()
  const isBlocks = useBlocks()
  const first = { id: 'box', head: headBox, cell: box, width: 40 }
  if (isBlocks) {
    return [
      first,
      {
        id: 'name',
        head: t('模型；提示 / 补全 / 缓存'),
        cell: (row) => (
          <div className={styles['block']}>
            <Name row={row} />
            <span className={styles['line']}>
              <span>{t('现价')}</span>
              <Price ratios={row.now} />
            </span>
            <span className={styles['line']}>
              <span>{t('公开价')}</span>
              <Price ratios={row.listed} before={row.now} />
            </span>
          </div>
        ),
      },
    ]
  }
  return [
    first,
    { id: 'name', head: t('模型'), cell: (row) => <Name row={row} /> },
    {
      id: 'now',
      head: t('现价：提示 / 补全 / 缓存'),
      width: 230,
      cell: (row) => <Price ratios={row.now} />,
    },
    {
      id: 'listed',
      head: t('公开价：提示 / 补全 / 缓存'),
      width: 230,
      cell: (row) => <Price ratios={row.listed} before={row.now} />,
    },
  ]
}

const BLOCK_ROW = 84
const WIDE_ROW = 40

/** Table of differences with checkboxes. */
export function PriceRows({ found, chosen, onChoose }: PriceRowsProps) {
  const { t } = useTranslation()
  const [word, setWord] = useState('')
  const hasServed = found.rows.some(({ is_served: isServed }) => isServed)
  const [isServedOnly, setIsServedOnly] = useState(hasServed)
  const shown = useMemo(
    () => shownRows(found.rows, { word, isServedOnly }),
    [found.rows, word, isServedOnly],
  )
  const choose = (rows: readonly PublishedPrice[], isOn: boolean): void => {
    const names = new Set(chosen)
    for (const { name } of rows) {
      if (isOn) names.add(name)
      else names.delete(name)
    }
    onChoose(names)
  }
  const ticked = shown.filter(({ name }) => chosen.has(name)).length
  const isAll = ticked > 0 && ticked === shown.length
  const columns = useColumns(
    (row) => (
      <CheckBox
        label={t('选择「{{name}}」', { name: row.name })}
        isOn={chosen.has(row.name)}
        onChange={(isOn) => choose([row], isOn)}
      />
    ),
    <CheckBox
      label={t('选择显示的全部模型')}
      isOn={isAll}
      isPart={ticked > 0 && !isAll}
      onChange={() => choose(shown, !isAll)}
    />,
  )
  return (
    <>
      <div className={styles['tools']}>
        <TextInput
          type="search"
          aria-label={t('搜索模型')}
          placeholder={t('搜索模型')}
          value={word}
          onChange={(event) => setWord(event.currentTarget.value)}
        />
        <label className={styles['served']}>
          <CheckBox isOn={isServedOnly} onChange={setIsServedOnly} />
          {t('只看已启用渠道提供的模型')}
        </label>
        <span className={styles['count']}>
          {t('{{count}} 个不同', { count: shown.length })}
          {t('，{{count}} 个相同', { count: found.same })}
          {found.left_out > 0 && t('，{{count}} 个无法对照', { count: found.left_out })}
        </span>
      </div>
      <WindowTable
        label={t('与公开价格不同的模型')}
        columns={columns}
        rows={shown}
        rowKey={({ name }) => name}
        rowHeight={columns.length === 2 ? BLOCK_ROW : WIDE_ROW}
        empty={found.rows.length === 0 ? t('所有价格都与公开价格一致') : t('没有符合条件的模型')}
      />
    </>
  )
}
