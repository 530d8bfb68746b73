import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../contract/channel-api.ts'
import { call } from '../app/call.ts'
import { useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { Action } from '../ui/actions.tsx'
import {
  batchKeys,
  type ChannelForm,
  hasStoredKey,
  needsKeyAgain,
  toInput,
} from './channel-form.ts'
import type { RowsProps } from './channel-form-rows.tsx'
import styles from './channel.module.css'

/** Requests the models with the form's values, or for the stored channel if these are unchanged. */
async function fetchUpstreamModels({ form, before }: RowsProps): Promise<string[]> {
  const input = toInput(form.values, before?.config ?? null)
  if (before !== null && isUnchanged({ form, before })) {
    return call('GET /api/channel/upstream_models/:id', { params: { id: before.id } })
  }
  const { type, base_url, key, config } = input
  return call('POST /api/channel/upstream_models', { body: { type, base_url, key, config } })
}

const isUnchanged = ({ form, before }: RowsProps & { before: Channel }): boolean =>
  hasStoredKey(before) && !needsKeyAgain(form.values, before) && form.values.key.trim() === ''

/** Models that an upstream returned, and the request that they answer. */
interface Offer {
  asked: string
  models: string[]
}

/** Identifies the upstream that a form would query: models of a different upstream do not apply. */
function questionOf(form: ChannelForm): string {
  const { type, base_url, key, config } = toInput(form)
  return JSON.stringify([type, base_url, key, config])
}

/** Why the upstream cannot be queried yet; undefined if it can. */
function useReason({ form, before }: RowsProps): string | undefined {
  const { t } = useTranslation()
  const hasKey = batchKeys(toInput(form.values).key ?? '').length > 0
  if (hasKey || (before !== null && isUnchanged({ form, before }))) return undefined
  return t('请先填写密钥')
}

/** Replaces the models with those that the upstream offers, and reports missing ones. */
export function UpstreamModels({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const why = useReason({ form, before })
  const [offer, setOffer] = useState<Offer | null>(null)
  const { models } = form.values
  const offered = offer?.asked === questionOf(form.values) ? new Set(offer.models) : null
  const missing = offered === null ? [] : models.filter((model) => !offered.has(model))
  // A One API server has no such endpoint.
  if (useStatus().gatehouse === undefined) return null

  async function fetchModels() {
    const asked = questionOf(form.values)
    const found = await fetchUpstreamModels({ form, before })
    // The user may have changed the form during the request.
    const now = form.getValues()
    if (questionOf(now) !== asked) {
      toast.info(t('类型、地址或密钥已经改变，请重新获取'))
      return
    }
    setOffer({ asked, models: found })
    const chosen = new Set(now.models)
    const added = found.filter((model) => !chosen.has(model))
    form.setFieldValue('models', [...now.models, ...added])
    form.clearFieldError('models')
    toast.success(
      t('上游提供 {{count}} 个模型，新填入 {{added}} 个', {
        count: found.length,
        added: added.length,
      }),
    )
  }
  return (
    <>
      <Action
        label={t('从上游获取')}
        onClick={fetchModels}
        {...(why === undefined ? {} : { why })}
      />
      {missing.length > 0 && (
        <output className={styles['missing']}>
          {t('上游没有其中的 {{count}} 个：{{list}}', {
            count: missing.length,
            list: missing.slice(0, MISSING_SHOWN_MAX).join(t('，')),
          })}
          <button
            type="button"
            onClick={() => {
              form.setFieldValue(
                'models',
                models.filter((model) => !missing.includes(model)),
              )
            }}
          >
            {t('移除这些模型')}
          </button>
        </output>
      )}
    </>
  )
}

const MISSING_SHOWN_MAX = 5
