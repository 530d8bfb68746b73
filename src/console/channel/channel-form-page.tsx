import { useForm } from '@mantine/form'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../contract/channel-api.ts'
import { CallFailure } from '../app/call-client.ts'
import { call } from '../app/call.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { type Change, Form, SaveBar } from '../ui/form.tsx'
import { Loading } from '../ui/loading.tsx'
import { Page } from '../ui/page.tsx'
import { LoadError } from '../ui/states.tsx'
import { formErrors } from './channel-form-errors.ts'
import {
  AddressRow,
  type ChannelFormApi,
  KeyRow,
  NameRows,
  OrderRows,
  TypeFields,
} from './channel-form-rows.tsx'
import { type ChannelForm, newChannelForm, toChanges, toForm, toInput } from './channel-form.ts'
import { ModelRows } from './channel-model-rows.tsx'
import { useTypeModels } from './channel-models.ts'
import { TypeRow } from './channel-type-field.tsx'

async function saveChannel(form: ChannelForm, before: Channel | null): Promise<void> {
  if (before === null) await call('POST /api/channel/', { body: toInput(form) })
  else await call('PUT /api/channel/', { body: { ...toChanges(form, before), id: before.id } })
}

function useSave(before: Channel | null) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [isBusy, setIsBusy] = useState(false)
  const [failure, setFailure] = useState('')
  async function save(form: ChannelForm) {
    setIsBusy(true)
    setFailure('')
    try {
      await saveChannel(form, before)
      void client.invalidateQueries({ queryKey: ['channels'] })
      toast.success(before === null ? t('渠道创建成功！') : t('渠道更新成功！'))
      await navigate({ to: paths.channel })
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setFailure(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return { save, isBusy, failure }
}

function useChannelForm(initial: ChannelForm, before: Channel | null) {
  const { t } = useTranslation()
  return useForm<ChannelForm>({
    initialValues: initial,
    validateInputOnBlur: ['baseUrl', 'priority', 'weight'],
    validate: (form) => {
      const errors = formErrors(form, before)
      return Object.fromEntries(
        [...errors].map(([field, { text, values }]) => [field, t(text, values ?? {})]),
      )
    },
  })
}

const labels: Record<keyof ChannelForm, string> = {
  type: mark('类型'),
}

function ChannelFormPage({ before }: { before: Channel | null }) {
  return null
}
