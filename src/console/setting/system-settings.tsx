import { useTranslation } from 'react-i18next'
import { localText } from '../app/i18n.ts'
import { groupsOn } from './option/option-field.ts'
import { OptionGroupForm } from './option/option-group.tsx'
import { Sections } from './option/sections.tsx'
import { WithOptions } from './option/with-options.tsx'
import { TestMail } from './test-mail.tsx'

export function SystemSettings() {
  const { t } = useTranslation()
  return (
    <WithOptions>
      {(options) => (
        <Sections
          label={t('系统设置')}
          sections={groupsOn('system').map((group) => ({
            id: group.id,
            title: localText(group.title),
            content: (
              <>
                <OptionGroupForm group={group} options={options} />
                {group.id === 'smtp' && <TestMail />}
              </>
            ),
          }))}
        />
      )}
    </WithOptions>
  )
}
