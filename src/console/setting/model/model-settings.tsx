import { useTranslation } from 'react-i18next'
import { mark } from '../../app/i18n.ts'
import { useHasFeature } from '../../app/status.ts'
import { Empty } from '../../ui/states.tsx'
import type { OptionField, OptionGroup } from '../option/option-field.ts'
import { OptionGroupForm } from '../option/option-group.tsx'
import { OptionRow } from '../option/option-row.tsx'
import { Sections } from '../option/sections.tsx'
import { WithOptions } from '../option/with-options.tsx'
import { EntryPreview } from './entry-preview.tsx'
import { ModelData } from './model-data.tsx'

const field: OptionField = {
  key: 'ModelCapabilities',
  kind: 'long',
  rows: 14,
  isCode: true,
  isOurs: true,
  label: mark('模型能力'),
  hint: mark(
    '以上游模型名称为键的 JSON，成员与 models.dev 相同，也可以直接粘贴 models.dev 的条目；* 匹配任意字符，名称后加 (渠道类型编号) 则只用于该类型的渠道。保存后下一次请求即生效',
  ),
  placeholder:
    '{"my-model": {"reasoning": true, "reasoning_options": [{"type": "toggle"}], "limit": {"output": 64000}}}',
}

const group: OptionGroup = {
  id: 'model-capabilities',
  title: mark('自定义模型能力'),
  saveLabel: mark('保存模型能力'),
  fields: [field],
}

/** What models can do: the operator's own entries, and the data they complete. */
export function ModelSettings() {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  if (!hasFeature('model-capabilities')) return <Empty sentence={t('服务器不支持此功能')} />
  return (
    <WithOptions>
      {(options) => (
        <Sections
          label={t('模型能力')}
          sections={[
            {
              id: group.id,
              title: group.title,
              isWide: true,
              content: (
                <OptionGroupForm group={group} options={options}>
                  {(form) => (
                    <>
                      <OptionRow form={form} field={field} />
                      <EntryPreview entries={form.text(field)} />
                    </>
                  )}
                </OptionGroupForm>
              ),
            },
            { id: 'model-data', title: mark('模型数据'), content: <ModelData /> },
          ]}
        />
      )}
    </WithOptions>
  )
}
