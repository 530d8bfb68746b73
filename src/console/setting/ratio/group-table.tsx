import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from '../../app/toast.ts'
import { isComposing } from '../../ui/field/composing.ts'
import { WindowTable, type WindowColumn } from '../../ui/scroll/window-table.tsx'
import { decimalText } from '../../../contract/decimal.ts'
import { cutToRatio, isTooLarge, readDecimal } from './decimal.ts'
import { RatioCell } from './ratio-cell.tsx'
import { readRatioText, withRatio } from './ratio-text.ts'
import styles from './ratio.module.css'

interface GroupTableProps {
  /** The JSON text of the group ratios. */
  text: string
  onChange: (text: string) => void
}

type GroupRow = readonly [name: string, ratio: string]

/** Parses a ratio; null if invalid. */
function ratioOf(typed: string): string | null {
  const ratio = readDecimal(typed)
  return ratio === null || isTooLarge(ratio) ? null : decimalText(cutToRatio(ratio).value)
}

function useColumns(text: string, onChange: (text: string) => void): WindowColumn<GroupRow>[] {
  const { t } = useTranslation()
  function set(group: string, typed: string): boolean {
    const ratio = ratioOf(typed)
    if (ratio === null) toast.error(t('需要 0 到 1000000 之间的数，例如 1.25'))
    else onChange(withRatio(text, group, ratio))
    return ratio !== null
  }
  return [
    { id: 'name', head: t('分组'), cell: ([group]) => <code>{group}</code> },
    {
      id: 'ratio',
      head: t('分组倍率'),
      align: 'end',
      width: 120,
      cell: ([group, ratio]) => (
        <RatioCell
          label={t('「{{name}}」的{{head}}', { name: group, head: t('分组倍率') })}
          value={ratio}
          onCommit={(typed) => set(group, typed)}
        />
      ),
    },
    {
      id: 'remove',
      head: <span className="sr-only">{t('操作')}</span>,
      width: 72,
      align: 'end',
      cell: ([group]) => (
        <button
          type="button"
          className={styles['remove']}
          aria-label={t('删除「{{name}}」', { name: group })}
          onClick={() => onChange(withRatio(text, group, null))}
        >
          {t('删除')}
        </button>
      ),
    },
  ]
}

/** Table of group ratios. */
export function GroupTable({ text, onChange }: GroupTableProps) {
  const { t } = useTranslation()
  const [name, setName] = useState('')
  const columns = useColumns(text, onChange)
  const read = readRatioText(text)
  if (read === null) {
    return (
      <output className={styles['unreadable']}>{t('不是有效的 JSON，改正之前表格不可用')}</output>
    )
  }
  function add() {
    const group = name.trim()
    if (group === '' || read?.ratios.has(group) === true) return
    onChange(withRatio(text, group, '1'))
    setName('')
  }
  return (
    <>
      <WindowTable
        label={t('分组倍率')}
        columns={columns}
        rows={[...read.ratios]}
        rowKey={([group]) => group}
        empty={t('还没有分组')}
      />
      <div className={styles['add']}>
        <TextInput
          aria-label={t('新分组的名称')}
          placeholder={t('新分组的名称')}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || isComposing(event)) return
            event.preventDefault()
            add()
          }}
        />
        <Button variant="default" onClick={add}>
          {t('添加')}
        </Button>
      </div>
    </>
  )
}
