import '@mantine/core/styles/Button.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Button, Popover } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { createContext, Fragment, type ReactNode, use, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ActMenuAround } from './act-menu.ts'
import { type ColumnWidth, widthOf } from './column-width.ts'
import styles from './row-acts.module.css'

/** Whether the rows lack space for all actions on one line. */
export const HasFewActions = createContext(false)

/** Width of two labels and the menu button, in pixels. */
const FEW_ACTIONS_WIDTH = 132

/** Page margins and list border, in pixels. */
const AROUND = 50

interface ActionsRoom {
  columns: readonly ColumnWidth[]
  actionsWidth?: number
  fewActionsWidth?: number
}

/** Determines whether the window fits all row actions beside the columns, and their width. */
export function useActionsRoom(room: ActionsRoom): { hasFew: boolean; actionsWidth: number } {
  const { columns, actionsWidth = 0, fewActionsWidth = FEW_ACTIONS_WIDTH } = room
  // Always visible, and included in the width of the media query.
  const scrollbar = window.innerWidth - document.documentElement.clientWidth
  const least = widthOf(columns) + actionsWidth + AROUND + scrollbar
  const hasFew = useMediaQuery(`(width < ${least}px)`, undefined, {
    getInitialValueInEffect: false,
  })
  return { hasFew, actionsWidth: hasFew ? fewActionsWidth : actionsWidth }
}

export interface RowAct {
  id: string
  node: ReactNode
  /** Moved into a menu if there is no space for all. */
  isRare?: boolean
}

/** Actions of a row, on one line. */
export function RowActs({ acts }: { acts: readonly RowAct[] }) {
  const hasFew = use(HasFewActions)
  const inline = acts.filter(({ isRare = false }) => !hasFew || !isRare)
  const rare = acts.filter((act) => !inline.includes(act))
  return (
    <>
      {inline.map(({ id, node }) => (
        <Fragment key={id}>{node}</Fragment>
      ))}
      {rare.length > 0 && <RareActs acts={rare} />}
    </>
  )
}

export function Dots() {
  return (
    <svg width="12" height="12" viewBox="0 0 12 12" fill="currentColor" aria-hidden="true">
      <circle cx="2" cy="6" r="1" />
      <circle cx="6" cy="6" r="1" />
      <circle cx="10" cy="6" r="1" />
    </svg>
  )
}

function RareActs({ acts }: { acts: readonly RowAct[] }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const menu = useMemo(() => ({ close: () => setIsOpen(false), button }), [])
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Button
          ref={button}
          size="xs"
          variant="default"
          aria-label={t('更多操作')}
          onClick={() => setIsOpen(!isOpen)}
        >
          <Dots />
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={styles['rare'] ?? ''} aria-label={t('更多操作')}>
        <ActMenuAround value={menu}>
          {acts.map(({ id, node }) => (
            <Fragment key={id}>{node}</Fragment>
          ))}
        </ActMenuAround>
      </Popover.Dropdown>
    </Popover>
  )
}
