import { useTranslation } from 'react-i18next'
import { localText } from '../app/i18n.ts'
import { groupsOn } from './option/option-field.ts'
import { OptionGroupForm } from './option/option-group.tsx'
import { Sections } from './option/sections.tsx'
import { WithOptions } from './option/with-options.tsx'
import { UpdateCheck } from './update-check.tsx'

export function OtherSettings() {
  const { t } = useTranslation()
  return (
    <WithOptions>
      {(options) => (
        <Sections
          label={t('其他设置')}
          sections={[
            { id: 'update', title: t('更新'), content: <UpdateCheck /> },
            ...groupsOn('other').map((group) => ({
              id: group.id,
              title: localText(group.title),
              content: <OptionGroupForm group={group} options={options} />,
            })),
          ]}
        />
      )}
    </WithOptions>
  )
}
