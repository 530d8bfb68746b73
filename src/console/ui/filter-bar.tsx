import '@mantine/core/styles/Input.layer.css'
import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { asTyped } from './field/as-typed.ts'
import { isComposing } from './field/composing.ts'
import styles from './page.module.css'

const TYPING_PAUSE_MS = 300
/** Up to this length, part of a filled-in secret reveals nothing. */
const HARMLESS_LENGTH = 8

/** Whether the typed text contains the filled-in text or a large part of it. */
const holds = (typed: string, filled: string): boolean =>
  filled !== '' &&
  (typed.includes(filled) || (typed.length > HARMLESS_LENGTH && filled.includes(typed)))

/** A row of filters above a list. */
export function FilterBar({ children }: { children: ReactNode }) {
  return <search className={styles['filters']}>{children}</search>
}

export interface SearchBox {
  text: string
  /** Called for each key; the list follows after a pause. */
  type: (text: string) => void
  /** Shows the text that an input method composes; the list waits for its end. */
  compose: (text: string) => void
  /** Searches immediately. */
  submit: () => void
  /** Clears the search and keeps the focus in the field. */
  clear: () => void
  /** Displays a text without searching for it, so that it does not enter the address. */
  fill: (text: string) => void
  /** Text displayed by `fill`; empty after another search. */
  filled: string
  field: RefObject<HTMLInputElement | null>
}

/** State of a search field: follows `keyword`, and calls `onKeyword` after a pause in typing. */
export function useSearchBox(keyword: string, onKeyword: (keyword: string) => void): SearchBox {
  const [text, setText] = useState(keyword)
  const [seen, setSeen] = useState(keyword)
  const [sent, setSent] = useState(keyword)
  const [filled, setFilled] = useState('')
  const field = useRef<HTMLInputElement>(null)
  if (keyword !== seen) {
    setSeen(keyword)
    // The keyword of our own search must not overwrite newer typing.
    if (keyword !== sent) setText(keyword)
  }
  const send = (typed: string) => {
    if (holds(typed, filled)) return
    setFilled('')
    setSent(typed.trim())
    onKeyword(typed.trim())
  }
  const sendLater = useDebouncedCallback(send, TYPING_PAUSE_MS)
  return {
    text,
    type: (next) => {
      setText(next)
      sendLater(next)
    },
    compose: (next) => {
      sendLater.cancel()
      setText(next)
    },
    submit: () => {
      sendLater.cancel()
      send(text)
    },
    clear: () => {
      sendLater.cancel()
      setText('')
      send('')
      field.current?.focus()
    },
    fill: (next) => {
      sendLater.cancel()
      setFilled(next)
      setText(next)
    },
    filled,
    field,
  }
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))

/** A search field; pressing `/` anywhere on the page focuses it. */
export function SearchField({ box, placeholder }: { box: SearchBox; placeholder: string }) {
  const { filled, field } = box
  useEffect(() => {
    if (filled === '') return
    // Selected, so that the user can copy it.
    field.current?.focus()
    field.current?.select()
  }, [filled, field])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || isTyping(event.target)) return
      event.preventDefault()
      field.current?.focus()
      field.current?.select()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [field])
  return (
    <TextInput
      ref={field}
      {...asTyped}
      type="search"
      className={styles['search'] ?? ''}
      placeholder={placeholder}
      aria-label={placeholder}
      aria-keyshortcuts="/"
      value={box.text}
      onChange={({ currentTarget: { value }, nativeEvent }) => {
        const isPart = nativeEvent instanceof InputEvent && nativeEvent.isComposing
        if (isPart) box.compose(value)
        else box.type(value)
      }}
      onCompositionEnd={(event) => box.type(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (isComposing(event)) return
        if (event.key === 'Enter') box.submit()
        if (event.key === 'Escape') box.type('')
      }}
    />
  )
}

interface FilterFieldProps {
  label: string
  value: string
  /** Called when Enter is pressed or the field is left. */
  onCommit: (value: string) => void
  /** Message for a text that is not a number; if not set, any text is accepted. */
  notNumber?: string
}

/** An exact-match filter: it applies when the text is complete. */
export function FilterField({ label, value, onCommit, notNumber }: FilterFieldProps) {
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  if (value !== seen) {
    setSeen(value)
    setText(value)
  }
  const isWrong = notNumber !== undefined && !/^\d*$/.test(text.trim())
  const commit = () => {
    const typed = text.trim()
    setText(typed)
    // Invalid text stays and is marked: without it the list would seem to be filtered by it.
    if (typed !== value && !isWrong) onCommit(typed)
  }
  return (
    <TextInput
      {...asTyped}
      className={styles['filter'] ?? ''}
      aria-label={label}
      placeholder={label}
      autoComplete="off"
      inputMode={notNumber === undefined ? 'text' : 'numeric'}
      error={isWrong ? notNumber : undefined}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (isComposing(event)) return
        if (event.key === 'Enter') commit()
        if (event.key === 'Escape') setText(value)
      }}
    />
  )
}
