import { useTranslation } from 'react-i18next'
import { OptionGroupForm } from '../option/option-group.tsx'
import { Sections } from '../option/sections.tsx'
import { WithOptions } from '../option/with-options.tsx'
import { systemGroups } from './system-groups.ts'
import { TestMail } from './test-mail.tsx'

export function SystemSettings() {
  const { t } = useTranslation()
  return (
    <WithOptions>
      {(options) => (
        <Sections
          label={t('系统设置')}
          sections={systemGroups.map((group) => ({
            id: group.id,
            title: group.title,
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
