import '@mantine/core/styles/Input.layer.css'
import { TextInput } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import styles from './page.module.css'

const TYPING_PAUSE_MS = 300

/** One row of filters above a list. */
export function FilterBar({ children }: { children: ReactNode }) {
  return <search className={styles['filters']}>{children}</search>
}

export interface SearchBox {
  text: string
  /** Called with each key; the list follows when typing pauses. */
  type: (text: string) => void
  /** Searches at once. */
  submit: () => void
  /** Only shows a text, without searching for it. */
  fill: (text: string) => void
}

/** The text of a search field: follows `keyword`, and calls `onKeyword` when typing pauses. */
export function useSearchBox(keyword: string, onKeyword: (keyword: string) => void): SearchBox {
  const [text, setText] = useState(keyword)
  const [typed, setTyped] = useState<string | null>(null)
  useEffect(() => setText(keyword), [keyword])
  const commit = useRef(onKeyword)
  commit.current = onKeyword
  useEffect(() => {
    if (typed === null) return
    const timer = setTimeout(() => commit.current(typed.trim()), TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return {
    text,
    type: (next) => {
      setText(next)
      setTyped(next)
    },
    submit: () => {
      setTyped(null)
      onKeyword(text.trim())
    },
    fill: (next) => {
      setTyped(null)
      setText(next)
    },
  }
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))

/** A search field; `/` anywhere on the page goes to it. */
export function SearchField({ box, placeholder }: { box: SearchBox; placeholder: string }) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || isTyping(event.target)) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return (
    <TextInput
      ref={input}
      type="search"
      className={styles['search'] ?? ''}
      placeholder={placeholder}
      aria-label={placeholder}
      aria-keyshortcuts="/"
      value={box.text}
      onChange={(event) => box.type(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') box.submit()
        if (event.key === 'Escape') box.type('')
      }}
    />
  )
}
