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

/** A group of options while somebody edits it. What was not touched follows the server. */
export interface OptionForm {
  group: OptionGroup
  options: Options
  text: (field: OptionField) => string
  /** Null gives the edit up. */
  edit: (key: OptionKey, text: string | null) => void
  isEdited: (key: string) => boolean
  /** Sentence under the field; empty: nothing wrong. */
  problem: (key: string) => string
  changes: readonly OptionChange[]
  isBusy: boolean
  /** What the server answered last; empty: nothing wrong. */
  failure: string
  /** What has to be asked before the changes are sent. */
  questions: readonly { what: Words; count: number }[]
  isAsking: boolean
  /** Where there is something to ask it only asks; called then, it sends. */
  save: () => void
  /** The answer was no. */
  dismiss: () => void
  giveUp: () => void
}

type Texts = Readonly<Record<string, string>>

const without = (texts: Texts, key: string): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([name]) => name !== key))

/** Sends one change; of a map of ratios only those entries that were edited. */
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
  // What was saved when the edit of each began.
  const [seen, setSeen] = useState<Texts>({})
  const [problems, setProblems] = useState<Texts>({})
  const [failure, setFailure] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const [isAsking, setIsAsking] = useState(false)
  const changes = changesOf(group.fields, edits, options.value)
  const questions = questionsOf(changes, options.value)
  const secrets = group.fields.filter(({ kind }) => kind === 'secret')
  useFormDraft(
    {
      values: secrets.reduce((texts, { key }) => without(texts, key), edits),
      isDirty: changes.length > 0,
      restore: setEdits,
    },
    group.id,
  )

  /** Sends one change after the other; those that arrived are no edits any more. */
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
    // Last: the save bar drops a refusal when the changes under it become others.
    setFailure(refusal)
  }

  /** Takes the first changes, which are saved, out of the edits. */
  async function keepUnsent(sent: number) {
    // The saved values first: for a moment the fields would show the old ones.
    await refresh()
    const done = new Set<string>(changes.slice(0, sent).map(({ field }) => field.key))
    // What was typed meanwhile is not saved yet.
    const isSaved = (key: string, text: string) => done.has(key) && text === edits[key]
    setEdits((now) =>
      Object.fromEntries(Object.entries(now).filter(([key, text]) => !isSaved(key, text))),
    )
    void loadStatus()
  }

  /** A One API server does not say which secrets it has: it is left to judge. */
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
