import { useTranslation } from 'react-i18next'
import { localText } from '../../app/i18n.ts'
import { useHasFeature } from '../../app/status.ts'
import { Empty } from '../../ui/states.tsx'
import { optionField, optionGroup } from '../option/option-field.ts'
import { OptionGroupForm } from '../option/option-group.tsx'
import { OptionRow } from '../option/option-row.tsx'
import { Sections } from '../option/sections.tsx'
import { WithOptions } from '../option/with-options.tsx'
import { EntryPreview } from './entry-preview.tsx'
import { ModelData } from './model-data.tsx'

const field = optionField('ModelCapabilities')
const group = optionGroup('model-capabilities')

/** Model capabilities: the operator's entries, and the data that they extend. */
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
              title: localText(group.title),
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
            { id: 'model-data', title: t('模型数据'), content: <ModelData /> },
          ]}
        />
      )}
    </WithOptions>
  )
}
