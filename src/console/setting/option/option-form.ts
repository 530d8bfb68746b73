import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Words } from '../../../contract/channel-type-row.ts'
import type { OptionKey } from '../../../contract/option/options.ts'
import { CallFailure } from '../../app/call-client.ts'
import { call } from '../../app/call.ts'
import { useFormDraft } from '../../app/form/form-drafts.ts'
import { localText } from '../../app/i18n.ts'
import { optionTitle } from '../../app/label/option-title.ts'
import { loadStatus } from '../../app/status.ts'
import { toast } from '../../app/toast.ts'
import { overSavedRatios, readableRatios } from '../ratio/ratio-text.ts'
import {
  changesOf,
  fieldProblem,
  isRatios,
  questionsOf,
  type OptionChange,
  type OptionField,
  type OptionGroup,
} from './option-field.ts'
import { type Options, useRefreshOptions, useSavedOptions } from './options.ts'

/** A group of options being edited. Unedited fields follow the server. */
export interface OptionForm {
  group: OptionGroup
  options: Options
  text: (field: OptionField) => string
  /** Null discards the edit. */
  edit: (key: OptionKey, text: string | null) => void
  isEdited: (key: string) => boolean
  /** Error message below the field; empty if it is valid. */
  problem: (key: string) => string
  changes: readonly OptionChange[]
  isBusy: boolean
  /** Error of the last request; empty if it succeeded. */
  failure: string
  /** Confirmations required before the changes are sent. */
  questions: readonly { what: Words; count: number }[]
  isAsking: boolean
  /** Opens the confirmation if one is required; sends when called again. */
  save: () => void
  /** Cancels the confirmation. */
  dismiss: () => void
  giveUp: () => void
}

type Texts = Readonly<Record<string, string>>
const NO_EDITS: Readonly<Record<'edits' | 'seen', Texts>> = { edits: {}, seen: {} }

const without = (texts: Texts, key: string): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([name]) => name !== key))

/** Sends one change; for a map of ratios, only the edited entries. */
function useSend(): (change: OptionChange, seen: Texts) => Promise<void> {
  const askSaved = useSavedOptions()
  return async ({ field: { key, kind }, value }, seen) => {
    const was = seen[key]
    const isMap = isRatios(kind) && was !== undefined
    const sent = isMap ? overSavedRatios(value, was, (await askSaved()).value(key)) : value
    await call('PUT /api/option/', { body: { key, value: sent } })
  }
}

export function useOptionForm(group: OptionGroup, options: Options): OptionForm {
  const { t } = useTranslation()
  const refresh = useRefreshOptions()
  const sendOne = useSend()
  const [edits, setEdits] = useState<Texts>({})
  // Saved value of each option when its edit began.
  const [seen, setSeen] = useState<Texts>({})
  const [problems, setProblems] = useState<Texts>({})
  const [failure, setFailure] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const [isAsking, setIsAsking] = useState(false)
  const changes = changesOf(group.fields, edits, options.value)
  const questions = questionsOf(changes, options.value)
  const secrets = group.fields.filter(({ kind }) => kind === 'secret' || kind === 'signInProviders')
  useFormDraft(
    {
      values: { edits: secrets.reduce((texts, { key }) => without(texts, key), edits), seen },
      initial: NO_EDITS,
      isDirty: changes.length > 0,
      restore: (kept) => {
        setEdits(kept.edits)
        setSeen(kept.seen)
      },
    },
    group.id,
  )

  /** Sends the changes in order; saved ones are removed from the edits. */
  async function send() {
    let sent = 0
    let refusal = ''
    try {
      for (const change of changes) {
        await sendOne(change, seen)
        sent += 1
      }
      toast.success(t('操作成功完成！'))
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      const refused = changes[sent]?.field.key
      if (refused !== undefined) setProblems({ [refused]: error.message })
      refusal = error.message
    }
    if (sent > 0) await keepUnsent(sent)
    // Set last, because the save bar clears an error when its changes are replaced.
    setFailure(refusal)
  }

  /** Removes the first changes, which are saved, from the edits. */
  async function keepUnsent(sent: number) {
    // Refreshes first: otherwise the fields would briefly show old values.
    await refresh()
    const done = new Set<string>(changes.slice(0, sent).map(({ field }) => field.key))
    // Input since the request is not saved yet.
    const isSaved = (key: string, text: string) => done.has(key) && text === edits[key]
    setEdits((now) =>
      Object.fromEntries(Object.entries(now).filter(([key, text]) => !isSaved(key, text))),
    )
    void loadStatus()
  }

  /** A One API server does not report which secrets are set, so they count as set. */
  const isFilled = (key: OptionKey): boolean =>
    (edits[key] ?? options.value(key)) !== '' || options.isSecretSet(key) !== false

  function save() {
    const found = group.fields.flatMap((field) => {
      const edit = edits[field.key]
      const problem = edit === undefined ? null : fieldProblem(field, edit, isFilled)
      if (problem === null) return []
      const text = t(problem.text, {
        ...problem.values,
        needed: problem.needed === undefined ? '' : optionTitle(problem.needed),
      })
      return [{ field, text, namesField: problem.namesField === true }]
    })
    setProblems(Object.fromEntries(found.map(({ field, text }) => [field.key, text])))
    setFailure('')
    const [first] = found
    if (first !== undefined) {
      const values = { name: localText(first.field.title), problem: first.text }
      toast.error(first.namesField ? first.text : t('「{{name}}」：{{problem}}', values))
      return
    }
    const mustAsk = !isAsking && questions.length > 0
    setIsAsking(mustAsk)
    if (mustAsk) return
    setIsBusy(true)
    void send().finally(() => setIsBusy(false))
  }

  return {
    group,
    options,
    text: (field) => {
      const saved = options.value(field.key)
      return edits[field.key] ?? (isRatios(field.kind) ? readableRatios(saved) : saved)
    },
    edit(key, text) {
      setEdits((now) => (text === null ? without(now, key) : { ...now, [key]: text }))
      if (edits[key] === undefined) setSeen((now) => ({ ...now, [key]: options.value(key) }))
      setProblems((now) => without(now, key))
      setFailure('')
    },
    isEdited: (key) => edits[key] !== undefined,
    problem: (key) => problems[key] ?? '',
    changes,
    isBusy,
    failure,
    questions,
    isAsking,
    save,
    dismiss: () => setIsAsking(false),
    giveUp() {
      setEdits({})
      setProblems({})
      setFailure('')
    },
  }
}
