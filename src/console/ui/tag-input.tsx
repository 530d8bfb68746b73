import '@mantine/core/styles/CloseButton.layer.css'
import '@mantine/core/styles/Combobox.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/Pill.layer.css'
import '@mantine/core/styles/PillsInput.layer.css'
import '@mantine/core/styles/Popover.layer.css'
import { Pill, TagsInput } from '@mantine/core'
import { type KeyboardEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isComposing } from './field/composing.ts'
import type { RowField } from './field/row-field.tsx'
import styles from './form.module.css'

interface TagInputProps {
  field: RowField
  value: string[]
  onChange: (value: string[]) => void
  /** Suggestions; other values are accepted too. */
  options: readonly string[]
  placeholder: string
}

/** Maximum number of rendered tags: a thousand would make typing slow. */
const SHOWN_MAX = 60

/** Returns the tag to mark after a key; null to mark no tag, undefined if the key is not handled. */
function markedAfter(
  key: string,
  tags: readonly string[],
  marked: string | null,
): string | null | undefined {
  const at = marked === null ? tags.length : tags.indexOf(marked)
  if (key === 'ArrowLeft') return tags[Math.max(0, at - 1)] ?? null
  if (key === 'ArrowRight') return tags[at + 1] ?? null
  if (key === 'Home') return tags[0] ?? null
  if (key === 'End') return tags.at(-1) ?? null
  return undefined
}

/** Keyboard navigation through the tags of an empty field, with removal; announces each step. */
function useTagKeys(value: readonly string[], onChange: (value: string[]) => void) {
  const { t } = useTranslation()
  const [chosen, setMarked] = useState<string | null>(null)
  const [said, say] = useState('')
  // The tag may have been removed by other means.
  const marked = chosen !== null && value.includes(chosen) ? chosen : null
  const nameOf = (tag: string, tags: readonly string[]) =>
    t('{{tag}}，第 {{index}} 个，共 {{total}} 个，按 Delete 键移除', {
      tag,
      index: tags.indexOf(tag) + 1,
      total: tags.length,
    })
  const removed = (tag: string) => t('已移除 {{tag}}', { tag })
  /** Applies new tags and announces removed ones. */
  function change(next: string[]) {
    const isKept = new Set(next)
    const [gone, ...more] = value.filter((tag) => !isKept.has(tag))
    if (gone === undefined) say('')
    else
      say(more.length === 0 ? removed(gone) : t('已移除 {{count}} 个', { count: more.length + 1 }))
    onChange(next)
  }
  function remove(tag: string) {
    const at = value.indexOf(tag)
    const next = value.filter((other) => other !== tag)
    const neighbour = next[Math.min(at, next.length - 1)]
    onChange(next)
    setMarked(neighbour ?? null)
    say([removed(tag), ...(neighbour === undefined ? [] : [nameOf(neighbour, next)])].join(t('，')))
  }
  function onKeyDown(event: KeyboardEvent<HTMLInputElement>) {
    if (event.currentTarget.value !== '' || isComposing(event)) return
    if (marked !== null && ['Backspace', 'Delete'].includes(event.key)) {
      event.preventDefault()
      remove(marked)
      return
    }
    const next = markedAfter(event.key, value, marked)
    if (next === undefined) return
    event.preventDefault()
    setMarked(next)
    say(next === null ? '' : nameOf(next, value))
  }
  return { marked, said, change, onKeyDown, unmark: () => setMarked(null) }
}

const bringIntoView = (tag: HTMLElement | null) => tag?.scrollIntoView({ block: 'nearest' })

/** A list of short texts: chosen, typed, or pasted with commas, spaces or line breaks. */
export function TagInput({ field, value, onChange, options, placeholder }: TagInputProps) {
  const { t } = useTranslation()
  const [isWhole, setIsWhole] = useState(false)
  const { marked, said, change, onKeyDown, unmark } = useTagKeys(value, onChange)
  // The last tags are shown, where new ones are added, and the marked one.
  const firstShown = Math.max(0, value.length - SHOWN_MAX)
  const isInView = marked === null || value.indexOf(marked) >= firstShown
  const hidden = isWhole || !isInView ? [] : value.slice(0, firstShown)
  const isHidden = new Set(hidden)
  const offered = new Set(options.filter((option) => !isHidden.has(option)))
  const clean = (tags: string[]) => [
    ...new Set([...hidden, ...tags].map((tag) => tag.trim()).filter((tag) => tag !== '')),
  ]
  return (
    <>
      <TagsInput
        {...field}
        value={value.slice(hidden.length)}
        onChange={(tags) => change(clean(tags))}
        onClear={() => change([])}
        onKeyDown={onKeyDown}
        onSearchChange={unmark}
        onBlur={unmark}
        data={[...offered]}
        splitChars={[',', '，', '\n', '\t', ' ']}
        isDuplicate={(tag, tags) => tags.includes(tag)}
        acceptValueOnBlur
        clearable
        clearButtonProps={{ 'aria-label': t('清空'), size: 'sm', className: styles['clear'] ?? '' }}
        withScrollArea={false}
        limit={200}
        placeholder={value.length === 0 ? placeholder : ''}
        comboboxProps={{ shadow: 'md' }}
        renderPill={({ value: tag, onRemove, disabled }) => (
          <Pill
            ref={tag === marked ? bringIntoView : null}
            className={styles['tag'] ?? ''}
            mod={{ marked: tag === marked }}
            withRemoveButton={disabled !== true}
            {...(onRemove === undefined ? {} : { onRemove })}
          >
            {tag}
          </Pill>
        )}
        classNames={{ pillsList: styles['tags'] ?? '', options: styles['offered'] ?? '' }}
      />
      <output className="sr-only">{said}</output>
      {hidden.length > 0 && (
        <p className={styles['more']}>
          {t('共 {{total}} 个，只显示最后 {{count}} 个', {
            total: value.length,
            count: SHOWN_MAX,
          })}{' '}
          <button type="button" onClick={() => setIsWhole(true)}>
            {t('全部显示')}
          </button>
        </p>
      )}
    </>
  )
}
