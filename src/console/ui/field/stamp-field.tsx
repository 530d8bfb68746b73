import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import '@mantine/dates/styles.layer.css'
import { Popover, TextInput } from '@mantine/core'
import { DatePicker } from '@mantine/dates'
import dayjs from 'dayjs'
import zhCn from 'dayjs/locale/zh-cn.js'
import { type KeyboardEvent, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import styles from './stamp-field.module.css'

interface StampFieldProps {
  label: string
  /** Epoch seconds. */
  value: number
  onCommit: (seconds: number) => void
  /** Called for every change of the text, valid or not. */
  onType?: (text: string) => void
  /** Formats seconds as a timestamp that begins with `YYYY-MM-DD`. */
  format: (seconds: number) => string
  /** Parses a timestamp to seconds; null if invalid. */
  parse: (text: string) => number | null
  /**
   * Label of the value 0, which is shown as an empty field; if not set, 0 is an ordinary moment.
   */
  atZero?: string
  /** Time of day for a date chosen from the calendar, such as `23:59:59`. */
  timeOfDay: string
}

const DAY_LENGTH = 'YYYY-MM-DD'.length

/**
 * A moment, entered or chosen from a calendar. Enter or leaving the field commits, Escape restores
 * the old value.
 */
export function StampField(props: StampFieldProps) {
  const { label, value, onCommit, onType, atZero, timeOfDay } = props
  const { t } = useTranslation()
  const isZero = (seconds: number) => atZero !== undefined && seconds === 0
  const format = (seconds: number) => (isZero(seconds) ? '' : props.format(seconds))
  const parse = (typed: string) =>
    atZero !== undefined && typed.trim() === '' ? 0 : props.parse(typed)
  const [text, show] = useState(format(value))
  const [seen, setSeen] = useState(value)
  if (value !== seen) {
    setSeen(value)
    show(format(value))
  }
  function setText(next: string) {
    show(next)
    onType?.(next)
  }
  const isWrong = parse(text) === null

  function commit(typed: string) {
    const seconds = parse(typed)
    if (seconds === null) return
    setText(format(seconds))
    if (seconds !== value) onCommit(seconds)
  }
  function onKeyDown(event: KeyboardEvent<HTMLInputElement>) {
    if (event.key === 'Enter') commit(text)
    if (event.key === 'Escape') setText(format(value))
  }
  return (
    <TextInput
      className={styles['stamp'] ?? ''}
      aria-label={label}
      autoComplete="off"
      placeholder={atZero ?? 'YYYY-MM-DD HH:mm:ss'}
      value={text}
      error={isWrong}
      title={isWrong ? t('时间格式错误，例如 2030-01-31 12:00:00') : label}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={() => commit(text)}
      onKeyDown={onKeyDown}
      rightSection={
        <Calendar
          label={label}
          day={value > 0 ? format(value).slice(0, DAY_LENGTH) : null}
          onChoose={(day) => commit(`${day} ${timeOfDay}`)}
        />
      }
    />
  )
}

interface CalendarProps {
  label: string
  /** `YYYY-MM-DD`; null opens the current month. */
  day: string | null
  onChoose: (day: string) => void
}

/** A button that opens a calendar to choose a day. */
export function Calendar({ label, day, onChoose }: CalendarProps) {
  const { t, i18n } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const dropdown = useRef<HTMLDivElement>(null)
  /** Switching between days, months and years removes the pressed button. */
  function keepFocus() {
    requestAnimationFrame(() =>
      dropdown.current?.querySelector<HTMLElement>(`.${styles['level']}`)?.focus(),
    )
  }
  /** Month or year on the button that opens their selection; its accessible name states this. */
  const choiceOf = (what: string, format: string) => (shown: string) => (
    <>
      <span className="sr-only">{what}</span>
      {dayjs(shown).format(format)}
    </>
  )
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <button
          type="button"
          className={styles['open']}
          aria-label={t('{{label}}：打开日历', { label })}
          onClick={() => setIsOpen(!isOpen)}
        >
          <svg width="14" height="14" viewBox="0 0 14 14" fill="none" aria-hidden="true">
            <rect x="1.5" y="2.5" width="11" height="10" rx="1.5" stroke="currentColor" />
            <path d="M1.5 5.5h11M4.5 1v3M9.5 1v3" stroke="currentColor" />
          </svg>
        </button>
      </Popover.Target>
      <Popover.Dropdown ref={dropdown} aria-label={label} className={styles['calendar'] ?? ''}>
        <DatePicker
          value={day}
          {...(day === null ? {} : { defaultDate: day })}
          locale={i18n.language === 'en' ? 'en' : zhCn.name}
          firstDayOfWeek={1}
          monthLabelFormat={choiceOf(t('选择月份：'), t('YYYY 年 M 月'))}
          yearLabelFormat={choiceOf(t('选择年份：'), 'YYYY')}
          getDayAriaLabel={(shown) => dayjs(shown).format(t('YYYY 年 M 月 D 日'))}
          onLevelChange={keepFocus}
          classNames={{ calendarHeaderLevel: styles['level'] ?? '' }}
          hideOutsideDates
          // Red is reserved for errors.
          weekendDays={[]}
          size="sm"
          ariaLabels={{
            previousMonth: t('上个月'),
            nextMonth: t('下个月'),
            previousYear: t('上一年'),
            nextYear: t('下一年'),
            previousDecade: t('前十年'),
            nextDecade: t('后十年'),
          }}
          onChange={(chosen) => {
            if (chosen !== null) onChoose(chosen.slice(0, DAY_LENGTH))
            setIsOpen(false)
          }}
        />
      </Popover.Dropdown>
    </Popover>
  )
}
