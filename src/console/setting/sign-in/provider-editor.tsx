import '@mantine/core/styles/Input.layer.css'
import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isPreset, listedProvider, PRESET_PROVIDERS } from '../../../contract/oauth.ts'
import {
  emptyProvider,
  presetProviders,
  PROVIDER_COLORS,
  type ProviderColor,
  shownAs,
  type SignInProvider,
} from '../../../contract/option/sign-in-providers.ts'
import { withoutTrailing } from '../../../contract/text.ts'
import { mark } from '../../app/i18n.ts'
import { CopyButton } from '../../ui/copy/copy-button.tsx'
import { isComposing } from '../../ui/field/composing.ts'
import { SecretField } from '../../ui/field/secret-field.tsx'
import { FactRow, FormRow } from '../../ui/form.tsx'
import { Toggle } from '../../ui/toggle.tsx'
import type { OptionForm } from '../option/option-form.ts'
import { optionField } from '../option/option-field.ts'
import { entriesOf, textOfEntries, type ProviderEntry } from './provider-entries.ts'
import { RuleList } from './rule-list.tsx'
import styles from './sign-in.module.css'

const OPTION = optionField('SignInProviders')

/** List of sign-in providers; one at a time is open for editing. */
export function ProviderEditor({ form }: { form: OptionForm }) {
  const { t } = useTranslation()
  const [opened, setOpened] = useState<string | null>(null)
  const entries = entriesOf(form.text(OPTION))
  const saved = entriesOf(form.options.value(OPTION.key)).map(({ name }) => name)
  const edit = (next: readonly ProviderEntry[]) => form.edit(OPTION.key, textOfEntries(next))
  const address = withoutTrailing(form.options.value('ServerAddress') || document.baseURI, '/')
  function add(name: string, provider: SignInProvider) {
    edit([...entries, { name, provider }])
    setOpened(name)
  }
  return (
    <>
      <ul className={styles['providers']}>
        <li>
          <span className={styles['icon']}>ID</span>
          <ProviderTitle title="OIDC" note={t('在上面的「OIDC」中设置')} />
        </li>
        {entries.map(({ name, provider }) => {
          const { title, icon, color } = shownAs(name, provider)
          const isOpened = opened === name
          return (
            <li key={name}>
              <span className={styles['icon']} data-color={color}>
                {icon}
              </span>
              <ProviderTitle title={title} note={provider.enabled ? t('已启用') : t('已禁用')} />
              <div className={styles['acts']}>
                <Button
                  size="xs"
                  variant="default"
                  aria-expanded={isOpened}
                  aria-label={t('编辑 {{name}}', { name: title })}
                  onClick={() => setOpened(isOpened ? null : name)}
                >
                  {isOpened ? t('收起') : t('编辑')}
                </Button>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={t('移除 {{name}}', { name: title })}
                  onClick={() => edit(entries.filter((entry) => entry.name !== name))}
                >
                  {t('移除')}
                </Button>
              </div>
              {isOpened && (
                <div className={styles['fields']}>
                  <ProviderFields
                    name={name}
                    provider={provider}
                    isSaved={saved.includes(name)}
                    callback={`${address}/oauth/${listedProvider(name)}`}
                    onChange={(over) =>
                      edit(
                        entries.map((entry) =>
                          entry.name === name
                            ? { name, provider: { ...provider, ...over } }
                            : entry,
                        ),
                      )
                    }
                  />
                </div>
              )}
            </li>
          )
        })}
      </ul>
      <AddProvider names={entries.map(({ name }) => name)} onAdd={add} />
    </>
  )
}

const ProviderTitle = ({ title, note }: { title: string; note: string }) => (
  <div className={styles['title']}>
    {title}
    <p>{note}</p>
  </div>
)

interface AddProviderProps {
  names: readonly string[]
  onAdd: (name: string, provider: SignInProvider) => void
}

function AddProvider({ names, onAdd }: AddProviderProps) {
  const { t } = useTranslation()
  const [name, setName] = useState('')
  const [problem, setProblem] = useState('')
  function addNamed() {
    if (!/^[a-z][a-z0-9-]{0,15}$/.test(name) || names.includes(name)) {
      setProblem(t('名称只能用小写字母、数字和连字符，以字母开头，最多 16 个，且不能重复'))
      return
    }
    onAdd(name, { ...emptyProvider, title: isPreset(name) ? '' : name })
    setName('')
  }
  return (
    <div className={styles['add']}>
      <TextInput
        aria-label={t('新 OIDC 服务的名称')}
        placeholder={t('名称，例如 corp')}
        autoComplete="off"
        spellCheck={false}
        value={name}
        error={problem}
        onChange={(event) => {
          setName(event.currentTarget.value)
          setProblem('')
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || isComposing(event)) return
          // It would save the form.
          event.preventDefault()
          addNamed()
        }}
      />
      <Button variant="default" onClick={addNamed}>
        {t('添加 OIDC 服务')}
      </Button>
      {PRESET_PROVIDERS.filter((preset) => !names.includes(preset)).map((preset) => (
        <Button key={preset} variant="default" onClick={() => onAdd(preset, emptyProvider)}>
          {t('添加 {{name}}', { name: presetProviders[preset].title })}
        </Button>
      ))}
      <p>{t('名称是回调地址的一部分，以后不能更改；用户看到的是「显示名称」')}</p>
    </div>
  )
}

interface ProviderFieldsProps {
  name: string
  provider: SignInProvider
  /** The server has a secret. */
  isSaved: boolean
  /** Address to register with the provider. */
  callback: string
  onChange: (over: Partial<SignInProvider>) => void
}

type TextMember =
  | 'title'
  | 'icon'
  | 'client_id'
  | 'issuer'
  | 'authorization_endpoint'
  | 'token_endpoint'
  | 'userinfo_endpoint'
  | 'scopes'

const LABELS: Record<TextMember, string> = {
  title: mark('显示名称'),
  icon: mark('图标'),
  client_id: 'Client ID',
  issuer: mark('签发者地址'),
  authorization_endpoint: mark('授权地址'),
  token_endpoint: mark('令牌地址'),
  userinfo_endpoint: mark('用户信息地址'),
  scopes: 'Scopes',
}

const HINTS: Partial<Record<TextMember, string>> = {
  icon: mark('一两个字；留空则取名称的第一个字'),
  issuer: mark('其发现文档说明各个端点；没有发现文档时填写下面三个地址'),
  scopes: mark('以空格分隔；留空使用默认值'),
}

const COLORS: Record<ProviderColor, string> = {
  '': mark('无'),
  blue: mark('蓝'),
  green: mark('绿'),
  orange: mark('橙'),
  red: mark('红'),
  purple: mark('紫'),
  gray: mark('灰'),
}

function ProviderFields({ name, provider, isSaved, callback, onChange }: ProviderFieldsProps) {
  const { t } = useTranslation()
  const preset = isPreset(name) ? presetProviders[name] : null
  const line = (member: TextMember) => {
    const hint = HINTS[member]
    return (
      <FormRow
        key={member}
        label={t(LABELS[member])}
        {...(hint === undefined ? {} : { hint: t(hint) })}
      >
        {(row) => (
          <TextInput
            {...row}
            autoComplete="off"
            spellCheck={false}
            placeholder={preset === null || !(member in preset) ? '' : Object(preset)[member]}
            value={provider[member]}
            onChange={(event) => onChange({ [member]: event.currentTarget.value })}
          />
        )}
      </FormRow>
    )
  }
  return (
    <>
      <FactRow label={t('回调地址')}>
        <div className={styles['callback']}>
          <code>{callback}</code>
          <CopyButton text={callback} label={t('复制')} />
        </div>
      </FactRow>
      <FormRow label={t('启用')}>
        {(row) => (
          <Toggle
            field={row}
            isOn={provider.enabled}
            onChange={(enabled) => onChange({ enabled })}
          />
        )}
      </FormRow>
      {line('title')}
      {line('icon')}
      <FormRow label={t('颜色')}>
        {(row) => (
          <NativeSelect
            {...row}
            value={provider.color}
            onChange={(event) => {
              const value = event.currentTarget.value
              onChange({ color: PROVIDER_COLORS.find((color) => color === value) ?? '' })
            }}
            data={PROVIDER_COLORS.map((value) => ({ value, label: t(COLORS[value]) }))}
          />
        )}
      </FormRow>
      {line('client_id')}
      <FormRow label="Client Secret">
        {(row) => (
          <SecretField
            field={row}
            value={provider.client_secret}
            onChange={(text) => onChange({ client_secret: text })}
            placeholder={isSaved ? t('已设置，留空则不修改') : t('尚未设置')}
          />
        )}
      </FormRow>
      {preset === null && line('issuer')}
      {line('authorization_endpoint')}
      {line('token_endpoint')}
      {line('userinfo_endpoint')}
      {line('scopes')}
      <RuleList rules={provider.rules} onChange={(rules) => onChange({ rules })} />
      <FormRow
        label={t('规则可以授予管理员')}
        hint={t('打开后，有规则授予管理员时，角色在每次登录时由规则决定；超级管理员不受影响')}
      >
        {(row) => (
          <Toggle
            field={row}
            isOn={provider.allow_admin}
            onChange={(isOn) => onChange({ allow_admin: isOn })}
          />
        )}
      </FormRow>
    </>
  )
}
