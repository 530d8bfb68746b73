import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../../contract/channel-api.ts'
import type { PagedList } from '../../app/list/paged-list.ts'
import { useLatePart } from '../../app/shell/lazy-part.ts'
import { onSessionChange } from '../../app/session.ts'
import { useHasFeature } from '../../app/status.ts'
import type { RowSelection } from '../../ui/table/row-selection.tsx'
import { isFiltered } from '../channel-filters.tsx'
import { SelectionActions } from './selection-actions.tsx'

type Chosen = ReadonlyMap<number, Channel>

/** The selection outlives the list component, so that it survives a visit to a form. */
let kept: Chosen = new Map()
onSessionChange(() => (kept = new Map()))

const loadCopyDialog = async () => (await import('./copy-dialog.tsx')).CopyDialog

interface ChannelSelection {
  /** Undefined if the server has no batch operations. */
  selection: RowSelection<Channel> | undefined
  /** Removes deleted channels from the selection. */
  forget: (ids: readonly number[]) => void
  /** The open dialog for the selection. */
  dialog: ReactNode
}

/** The selected channels with their current rows; for rows that are not loaded, as last seen. */
function useChosenChannels(chosen: Chosen, list: PagedList<Channel>): Channel[] {
  const { rows, total, isRefreshing, state } = list
  // A channel that is missing from a fully loaded list has been deleted.
  const isNarrowed = state.keyword !== '' || isFiltered(state)
  const isWhole = !isRefreshing && !isNarrowed && total === rows.length
  return useMemo(() => {
    const now = new Map(rows.map((row) => [row.id, row]))
    return [...chosen.values()].flatMap((was) => now.get(was.id) ?? (isWhole ? [] : was))
  }, [chosen, rows, isWhole])
}

/** State of the channel selection. */
export function useChannelSelection(list: PagedList<Channel>): ChannelSelection {
  const { t } = useTranslation()
  const knowsBatches = useHasFeature()('channel-batch')
  const [chosen, setChosen] = useState(kept)
  useEffect(() => {
    kept = chosen
  }, [chosen])
  const { Part: CopyDialog, open, close } = useLatePart(loadCopyDialog)
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
  const channels = useChosenChannels(chosen, list)
  if (!knowsBatches) return { selection: undefined, forget, dialog: null }
  return {
    forget,
    dialog: CopyDialog !== undefined && (
      <CopyDialog channels={channels} list={list} forget={forget} onClose={close} />
    ),
    selection: {
      count: channels.length,
      isChosen: ({ id }) => chosen.has(id),
      choose,
      clear: () => setChosen(new Map()),
      labelOf: ({ id, name }) => t('选择「{{name}}」', { name: name || `#${id}` }),
      label: t('对选中的渠道'),
      actions: <SelectionActions channels={channels} list={list} forget={forget} onCopy={open} />,
    },
  }
}
