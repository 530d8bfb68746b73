import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { call } from '../../app/call.ts'
import { localText } from '../../app/i18n.ts'
import { useHasFeature } from '../../app/status.ts'
import { rowField } from '../../ui/field/row-field.tsx'
import { TextArea } from '../../ui/field/text-area.tsx'
import { isRatios, type OptionField } from '../option/option-field.ts'
import type { OptionForm } from '../option/option-form.ts'
import { OptionRow } from '../option/option-row.tsx'
import { GroupTable } from './group-table.tsx'
import type { PriceContext, PriceTexts } from './model-price.ts'
import { ModelTable } from './model-table.tsx'
import { PublishedPrices } from './published/published-prices.tsx'
import { readRatioText } from './ratio-text.ts'
import styles from './ratio.module.css'

/** Current completion ratios, including inferred ones; empty if the server does not send them. */
function useCompletionInForce(): ReadonlyMap<string, string> {
  const hasPrices = useHasFeature()('prices')
  const { data } = useQuery({
    queryKey: ['prices'],
    queryFn: ({ signal }) => call('GET /api/prices', {}, { signal, background: true }),
    enabled: hasPrices,
  })
  return useMemo(() => readRatioText(data?.completion_ratio ?? '')?.ratios ?? new Map(), [data])
}

/** Prices besides the edited ones: built-in ratios, and models without a price. */
function usePriceContext(hasPublished: boolean, hasDefault: boolean): PriceContext {
  const { data: builtIn } = useQuery({
    queryKey: ['prices', 'built-in'],
    queryFn: ({ signal }) => call('GET /api/prices/built-in', {}, { signal, background: true }),
    enabled: hasPublished,
  })
  const { data: unpriced } = useQuery({
    queryKey: ['prices', 'unpriced'],
    queryFn: ({ signal }) => call('GET /api/prices/unpriced', {}, { signal, background: true }),
    enabled: hasPublished,
  })
  return useMemo(
    () => ({
      builtIn: readRatioText(builtIn?.model_ratio ?? '')?.ratios ?? new Map(),
      hasDefault,
      unpriced: unpriced ?? [],
    }),
    [builtIn, unpriced, hasDefault],
  )
}

const byKey = (form: OptionForm, key: string): OptionField | undefined =>
  form.group.fields.find((field) => field.key === key)

function JsonArea({ form, field }: { form: OptionForm; field: OptionField }) {
  const id = `ratio-${field.key}`
  const problem = form.problem(field.key)
  return (
    <div className={styles['area']}>
      <label htmlFor={id}>{localText(field.title)}</label>
      {field.hint !== undefined && <p id={`${id}-hint`}>{localText(field.hint)}</p>}
      <TextArea
        field={rowField({ id, hasHint: field.hint !== undefined, hasError: problem !== '' })}
        value={form.text(field)}
        onChange={(text) => form.edit(field.key, text)}
        rows={'rows' in field ? field.rows : field.key === 'ModelRatio' ? 12 : 7}
        isCode
      />
      {problem !== '' && (
        <p id={`${id}-error`} className={styles['problem']}>
          {problem}
        </p>
      )}
    </div>
  )
}

const isJson = ({ kind }: OptionField): boolean => isRatios(kind) || kind === 'usableGroups'

const KEYS = { model: 'ModelRatio', completion: 'CompletionRatio', cache: 'CacheRatio' } as const

/** Editor of ratios as JSON texts, with a table of the same texts. */
export function RatioEditor({ form }: { form: OptionForm }) {
  const { t } = useTranslation()
  const byName = useCompletionInForce()
  const [shown, setShown] = useState<'models' | 'groups'>('models')
  const hasPublished = useHasFeature()('published-prices')
  const textOf = (key: string) => {
    const field = byKey(form, key)
    return field === undefined ? undefined : form.text(field)
  }
  const context = usePriceContext(hasPublished, (textOf('DefaultModelRatio') ?? '') !== '')
  const model = textOf(KEYS.model) ?? '{}'
  const completion = textOf(KEYS.completion) ?? '{}'
  const cache = textOf(KEYS.cache)
  const texts = useMemo<PriceTexts>(
    () => ({ model, completion, ...(cache === undefined ? {} : { cache }) }),
    [model, completion, cache],
  )
  function change(next: PriceTexts) {
    for (const map of ['model', 'completion', 'cache'] as const) {
      const text = next[map]
      if (text !== undefined && text !== texts[map]) form.edit(KEYS[map], text)
    }
  }
  const areas = form.group.fields.filter(isJson)
  const others = form.group.fields.filter((field) => !isJson(field))
  return (
    <>
      {others.map((field) => (
        <OptionRow key={field.key} form={form} field={field} />
      ))}
      <div className={styles['editor']}>
        <div className={styles['areas']}>
          {areas.map((field) => (
            <JsonArea key={field.key} form={form} field={field} />
          ))}
        </div>
        <div className={styles['side']}>
          <fieldset className={styles['switch']} aria-label={t('表格')}>
            <button
              type="button"
              aria-pressed={shown === 'models'}
              onClick={() => setShown('models')}
            >
              {t('模型价格')}
            </button>
            <button
              type="button"
              aria-pressed={shown === 'groups'}
              onClick={() => setShown('groups')}
            >
              {t('分组倍率')}
            </button>
          </fieldset>
          {shown === 'models' ? (
            <ModelTable
              texts={texts}
              onChange={change}
              byName={byName}
              context={context}
              action={hasPublished && <PublishedPrices isEdited={form.changes.length > 0} />}
            />
          ) : (
            <GroupTable
              text={textOf('GroupRatio') ?? '{}'}
              onChange={(text) => form.edit('GroupRatio', text)}
            />
          )}
        </div>
      </div>
    </>
  )
}
