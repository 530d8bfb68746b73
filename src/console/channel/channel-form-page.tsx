import { useForm } from '@mantine/form'
import { useParams, useSearch } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../contract/channel-api.ts'
import { call } from '../app/call.ts'
import { shownErrors } from '../app/form/form-errors.ts'
import { FormPage } from '../app/form/form-page.tsx'
import { useFormSave } from '../app/form/form-save.ts'
import { StoredRecord } from '../app/form/stored-record.tsx'
import { mark } from '../app/i18n.ts'
import { LinkButton } from '../app/link-button.tsx'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import type { Change } from '../ui/form.tsx'
import { formErrors } from './channel-form-errors.ts'
import {
  AddressRow,
  type ChannelFormApi,
  NameRows,
  OrderRows,
  TypeFields,
} from './channel-form-rows.tsx'
import {
  type ChannelForm,
  copiedForm,
  isReadOnly,
  newChannelForm,
  toChanges,
  toForm,
  toInput,
  withoutSecrets,
} from './channel-form.ts'
import { KeyRow } from './channel-key-row.tsx'
import { ModelRows } from './channel-model-rows.tsx'
import { useTypeModels } from './channel-models.ts'
import { TypeRow } from './channel-type-field.tsx'
import { typeName } from '../app/channel-type-name.ts'
import styles from './channel.module.css'
import { OverrideRows } from './override-rows.tsx'

async function saveChannel(form: ChannelForm, before: Channel | null): Promise<void> {
  if (before === null) await call('POST /api/channel/', { body: toInput(form) })
  else await call('PUT /api/channel/', { body: { ...toChanges(form, before), id: before.id } })
}

function useSave(before: Channel | null) {
  const { t } = useTranslation()
  return useFormSave({
    send: (form: ChannelForm) => saveChannel(form, before),
    isNew: before === null,
    list: 'channels',
    message: before === null ? t('渠道创建成功！') : t('渠道更新成功！'),
    to: paths.channel,
  })
}

function useChannelForm(initial: ChannelForm, before: Channel | null) {
  const { t } = useTranslation()
  return useForm<ChannelForm>({
    initialValues: initial,
    validateInputOnBlur: ['baseUrl', 'priority', 'weight'],
    validate: (form) => shownErrors(formErrors(form, before), t),
  })
}

/** Labels of the members that an edit sends, as in the form. */
const labels = new Map<string, string>([
  ['type', mark('类型')],
  ['name', mark('名称')],
  ['group', mark('分组')],
  ['base_url', mark('地址')],
  ['key', mark('密钥')],
  ['config', mark('类型的设置')],
  ['other', mark('类型的设置')],
  ['models', mark('模型')],
  ['model_mapping', mark('模型重定向')],
  ['system_prompt', mark('系统提示词')],
  ['priority', mark('优先级')],
  ['weight', mark('权重')],
])

/** Differences from the stored channel, for the save bar. */
function useChanges(form: ChannelForm, before: Channel | null): Change[] {
  const { t } = useTranslation()
  if (before === null) return []
  const was = toInput(toForm(before))
  const told = Object.entries(toChanges(form, before)).map(([member, value]): [string, Change] => {
    const label = labels.get(member) ?? member
    if (member === 'type') {
      return [label, { label, from: typeName(before.type, t), to: typeName(form.type, t) }]
    }
    if (member === 'priority' || member === 'weight') {
      return [label, { label, from: String(was[member] ?? 0), to: String(value) }]
    }
    return [label, { label }]
  })
  // Two members may belong to one field.
  return [...new Map(told).values()].map((change) => ({ ...change, label: t(change.label) }))
}

/** Changing the type replaces the models, unless the user has chosen some. */
function useTypeChange(form: ChannelFormApi) {
  const modelsOf = useTypeModels()
  return (type: number) => {
    const { models, type: before } = form.values
    const isUntouched = models.length === 0 || models.join() === modelsOf(before).join()
    form.setValues({ type, ...(isUntouched ? { models: modelsOf(type) } : {}) })
    form.clearErrors()
  }
}

interface ChannelFormPageProps {
  /** The edited channel; null for a new one. */
  before: Channel | null
  initial: ChannelForm
}

function ChannelFormPage({ before, initial }: ChannelFormPageProps) {
  const { t } = useTranslation()
  const isNew = before === null
  const form = useChannelForm(initial, before)
  const { save, ...saving } = useSave(before)
  const changes = useChanges(form.values, before)
  const changeType = useTypeChange(form)
  const isShut = isReadOnly(form.values, before)

  const submit = form.onSubmit(
    (values) => void save(values),
    (_, values) => {
      // A toast also names the first invalid field, which may be out of view.
      const [first] = formErrors(values, before).values()
      if (first !== undefined) toast.warning(t(first.toast ?? first.text, first.values ?? {}))
    },
  )
  const copy =
    isNew || isShut ? undefined : (
      <LinkButton variant="default" to={paths.channelAdd} search={{ from: String(before.id) }}>
        {t('复制为新渠道')}
      </LinkButton>
    )
  return (
    <FormPage
      title={isNew ? t('添加渠道') : t('编辑渠道')}
      name={before?.name}
      actions={copy}
      onSubmit={submit}
      saving={saving}
      typed={{
        values: withoutSecrets(form.values),
        initial: withoutSecrets(initial),
        isDirty: isNew ? form.isDirty() : changes.length > 0,
        restore: form.setValues,
      }}
      changes={changes}
      list={paths.channel}
    >
      <TypeRow value={form.values.type} onChange={changeType} isNew={isNew} />
      <fieldset className={styles['rows']} disabled={isShut}>
        <NameRows form={form} before={before} />
        <AddressRow form={form} />
        <TypeFields form={form} before={before} />
        <KeyRow form={form} before={before} />
        <ModelRows form={form} before={before} />
        <OrderRows form={form} before={before} />
        <OverrideRows form={form} before={before} />
      </fieldset>
    </FormPage>
  )
}

const loadChannel = (id: number, signal: AbortSignal) =>
  call('GET /api/channel/:id', { params: { id } }, { signal })

export function ChannelAddPage() {
  const { t } = useTranslation()
  // The router's parser makes every query a record of strings.
  const { from = '' }: { from?: string } = useSearch({ strict: false })
  if (from === '') return <ChannelFormPage before={null} initial={newChannelForm()} />
  return (
    <StoredRecord
      title={t('添加渠道')}
      what={t('这个渠道')}
      queryKey={['channel', from]}
      load={loadChannel}
      nameOf={({ name }) => name}
      list={paths.channel}
    >
      {(channel) => {
        const copy = copiedForm(channel, t('{{name}} 副本', { name: channel.name }))
        return <ChannelFormPage before={null} initial={copy} key={from} />
      }}
    </StoredRecord>
  )
}

export function ChannelEditPage() {
  const { t } = useTranslation()
  const { id = '' } = useParams({ strict: false })
  return (
    <StoredRecord
      title={t('编辑渠道')}
      what={t('这个渠道')}
      queryKey={['channel', id]}
      load={loadChannel}
      nameOf={({ name }) => name}
      list={paths.channel}
    >
      {(channel) => <ChannelFormPage before={channel} initial={toForm(channel)} key={channel.id} />}
    </StoredRecord>
  )
}
