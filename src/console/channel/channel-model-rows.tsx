import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from '../app/toast.ts'
import { CopyButton } from '../ui/copy/copy-button.tsx'
import { isComposing } from '../ui/field/composing.ts'
import { FormRow } from '../ui/form.tsx'
import { TextArea } from '../ui/field/text-area.tsx'
import { TagInput } from '../ui/tag-input.tsx'
import { hasField } from './channel-form.ts'
import { useAllModels, useTypeModels } from './channel-models.ts'
import { type ChannelFormApi, errorOf, type RowsProps } from './channel-form-rows.tsx'
import { UpstreamModels } from './channel-upstream-models.tsx'
import styles from './channel.module.css'

const MAPPING_EXAMPLE = `{
  "gpt-3.5-turbo-0301": "gpt-3.5-turbo",
  "gpt-4-0314": "gpt-4"
}`

const joined = (...lists: readonly string[][]): string[] => [...new Set(lists.flat())]

function FillButtons({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const { type, models } = form.values
  const related = useTypeModels()(type)
  const all = useAllModels()
  const set = (next: string[]) => {
    form.setFieldValue('models', next)
    form.clearFieldError('models')
  }
  return (
    <div className={styles['buttons']}>
      <Button
        size="xs"
        variant="default"
        disabled={related.length === 0}
        title={related.length === 0 ? t('这个类型没有预设的模型') : undefined}
        onClick={() => set(joined(models, related))}
      >
        {t('填入相关模型')}
      </Button>
      <Button
        size="xs"
        variant="default"
        disabled={all.length === 0}
        onClick={() => set(joined(models, all))}
      >
        {t('填入所有模型')}
      </Button>
      <Button
        size="xs"
        variant="default"
        disabled={models.length === 0}
        title={models.length === 0 ? t('还没有选择模型') : undefined}
        onClick={() => set([])}
      >
        {t('清除所有模型')}
      </Button>
      <UpstreamModels form={form} before={before} />
      {models.length > 0 && (
        <CopyButton
          text={models.join(',')}
          label={t('复制')}
          onDone={(isCopied) => {
            if (!isCopied) toast.warning(t('无法复制到剪贴板，请手动复制'))
          }}
        />
      )}
    </div>
  )
}

/** Adds a model that is not in any list. */
function CustomModel({ form }: { form: ChannelFormApi }) {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const add = () => {
    const typed = text.split(/[,，\s]+/).filter((model) => model !== '')
    setText('')
    if (typed.length === 0) return
    form.setFieldValue('models', joined(form.values.models, typed))
    form.clearFieldError('models')
  }
  return (
    <div className={styles['custom']}>
      <TextInput
        aria-label={t('自定义模型名称')}
        placeholder={t('自定义模型名称')}
        autoComplete="off"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || isComposing(event)) return
          event.preventDefault()
          add()
        }}
      />
      <Button
        variant="default"
        disabled={text.trim() === ''}
        title={text.trim() === '' ? t('请先输入模型名称') : undefined}
        onClick={add}
      >
        {t('填入')}
      </Button>
    </div>
  )
}

function ModelsRow({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const { type, models } = form.values
  const related = useTypeModels()(type)
  const all = useAllModels()
  return (
    <FormRow
      label={t('模型')}
      hint={
        models.length === 0
          ? t('此渠道能调用的模型')
          : t('已选 {{count}} 个', { count: models.length })
      }
      error={errorOf(form, 'models')}
      isRequired
    >
      {(field) => (
        <>
          <TagInput
            field={field}
            value={models}
            onChange={(value) => {
              form.setFieldValue('models', value)
              form.clearFieldError('models')
            }}
            options={joined(related, all)}
            placeholder={t('选择或输入模型')}
          />
          <FillButtons form={form} before={before} />
          <CustomModel form={form} />
        </>
      )}
    </FormRow>
  )
}

/** Formats a JSON text for reading; null if it is not JSON. */
function formattedJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return null
  }
}

function MappingRow({ form }: { form: ChannelFormApi }) {
  const { t } = useTranslation()
  const { mapping } = form.values
  const isEmpty = mapping.trim() === ''
  const tidy = formattedJson(mapping)
  const set = (text: string) => {
    form.setFieldValue('mapping', text)
    form.clearFieldError('mapping')
  }
  return (
    <FormRow
      label={t('模型重定向')}
      hint={t('请求的模型名 → 发给上游的模型名，可留空')}
      error={errorOf(form, 'mapping')}
    >
      {(field) => (
        <>
          <TextArea
            field={field}
            isCode
            rows={5}
            placeholder={MAPPING_EXAMPLE}
            value={mapping}
            onChange={set}
            onBlur={() => form.validateField('mapping')}
          />
          <div className={styles['buttons']}>
            <Button
              size="xs"
              variant="default"
              disabled={!isEmpty}
              title={isEmpty ? undefined : t('已有内容，先清空再填入示例')}
              onClick={() => set(MAPPING_EXAMPLE)}
            >
              {t('填入示例')}
            </Button>
            <Button
              size="xs"
              variant="default"
              disabled={tidy === null || tidy === mapping}
              title={tidy === null && !isEmpty ? t('不是有效的 JSON') : undefined}
              onClick={() => set(tidy ?? mapping)}
            >
              {t('整理格式')}
            </Button>
          </div>
        </>
      )}
    </FormRow>
  )
}

/** Fields for models, model mapping and system prompt of a channel. */
export function ModelRows({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const { type } = form.values
  return (
    <>
      {hasField(type, 'models') && <ModelsRow form={form} before={before} />}
      {hasField(type, 'model_mapping') && <MappingRow form={form} />}
      {hasField(type, 'system_prompt') && (
        <FormRow label={t('系统提示词')} hint={t('替换请求里的系统提示词，可留空')}>
          {(field) => (
            <TextArea
              field={field}
              rows={3}
              value={form.values.systemPrompt}
              onChange={(prompt) => form.setFieldValue('systemPrompt', prompt)}
            />
          )}
        </FormRow>
      )}
    </>
  )
}
