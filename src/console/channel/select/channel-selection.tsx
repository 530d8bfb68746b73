import { lazy, type ReactNode, Suspense, useCallback, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../../contract/channel-api.ts'
import type { PagedList } from '../../app/list/paged-list.ts'
import { useHasFeature } from '../../app/status.ts'
import type { RowSelection } from '../../ui/table/row-selection.tsx'
import { SelectionActions } from './selection-actions.tsx'

const CopyDialog = lazy(async () => ({
  default: (await import('./copy-dialog.tsx')).CopyDialog,
}))

interface ChannelSelection {
  /** Undefined where the server knows nothing of many channels at once. */
  selection: RowSelection<Channel> | undefined
  /** Of channels that are gone. */
  forget: (ids: readonly number[]) => void
  /** What is asked of the chosen ones, apart from the list. */
  dialog: ReactNode
}

/** The channels that are chosen, as they were when they were. */
export function useChannelSelection(list: PagedList<Channel>): ChannelSelection {
  const { t } = useTranslation()
  const knowsBatches = useHasFeature()('channel-batch')
  const [chosen, setChosen] = useState<ReadonlyMap<number, Channel>>(() => new Map())
  const [isCopying, setIsCopying] = useState(false)
  const choose = useCallback((rows: readonly Channel[], isOn: boolean) => {
    setChosen((before) => {
      const ids = new Set(rows.map(({ id }) => id))
      const rest = [...before].filter(([id]) => !ids.has(id))
      return new Map(isOn ? [...rest, ...rows.map((row) => [row.id, row] as const)] : rest)
    })
  }, [])
  const forget = useCallback((ids: readonly number[]) => {
    const gone = new Set(ids)
    setChosen((before) => new Map([...before].filter(([id]) => !gone.has(id))))
  }, [])
  const channels = useMemo(() => [...chosen.values()], [chosen])
  if (!knowsBatches) return { selection: undefined, forget, dialog: null }
  return {
    forget,
    dialog: isCopying && (
      <Suspense>
        <CopyDialog
          channels={channels}
          list={list}
          forget={forget}
          onClose={() => setIsCopying(false)}
        />
      </Suspense>
    ),
    selection: {
      count: chosen.size,
      isChosen: ({ id }) => chosen.has(id),
      choose,
      clear: () => setChosen(new Map()),
      labelOf: ({ id, name }) => t('选择「{{name}}」', { name: name || `#${id}` }),
      label: t('对选中的渠道'),
      actions: (
        <SelectionActions
          channels={channels}
          list={list}
          forget={forget}
          onCopy={() => setIsCopying(true)}
        />
      ),
    },
  }
}
