import '@mantine/core/styles/Input.layer.css'
import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { asTyped } from './field/as-typed.ts'
import { isComposing } from './field/composing.ts'
import styles from './page.module.css'

const TYPING_PAUSE_MS = 300
/** So few letters of what was filled in give nothing of it away. */
const HARMLESS_LENGTH = 8

/** Whether a filled-in text, or a good part of it, still stands among what is typed. */
const holds = (typed: string, filled: string): boolean =>
  filled !== '' &&
  (typed.includes(filled) || (typed.length > HARMLESS_LENGTH && filled.includes(typed)))

/** One row of filters above a list. */
export function FilterBar({ children }: { children: ReactNode }) {
  return <search className={styles['filters']}>{children}</search>
}

export interface SearchBox {
  text: string
  /** Called with each key; the list follows when typing pauses. */
  type: (text: string) => void
  /** Shows what an input method has made of the keys so far; the list waits for the word. */
  compose: (text: string) => void
  /** Searches at once. */
  submit: () => void
  /** Ends the search, and leaves the keyboard where another one can be typed. */
  clear: () => void
  /** Only shows a text: it is never searched for, and so never comes into the address. */
  fill: (text: string) => void
  /** What was shown so; empty when something else was searched for since. */
  filled: string
  field: RefObject<HTMLInputElement | null>
}

/** The text of a search field: follows `keyword`, and calls `onKeyword` when typing pauses. */
export function useSearchBox(keyword: string, onKeyword: (keyword: string) => void): SearchBox {
  const [text, setText] = useState(keyword)
  const [seen, setSeen] = useState(keyword)
  const [sent, setSent] = useState(keyword)
  const [filled, setFilled] = useState('')
  const field = useRef<HTMLInputElement>(null)
  if (keyword !== seen) {
    setSeen(keyword)
    // Our own search, coming back as the keyword, must not overwrite newer typing.
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

/** A search field; `/` anywhere on the page goes to it. */
export function SearchField({ box, placeholder }: { box: SearchBox; placeholder: string }) {
  const { filled, field } = box
  useEffect(() => {
    if (filled === '') return
    // To be copied by hand.
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
  /** What to say of a text that is no number; without it any text will do. */
  notNumber?: string
}

/** A filter that compares whole texts: it waits until one is complete. */
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
    // What is typed stays, marked: dropped, the list would seem to be filtered by it.
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
