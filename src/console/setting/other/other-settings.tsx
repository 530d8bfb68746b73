import { useTranslation } from 'react-i18next'
import { mark } from '../../app/i18n.ts'
import { OptionGroupForm } from '../option/option-group.tsx'
import { Sections } from '../option/sections.tsx'
import { WithOptions } from '../option/with-options.tsx'
import { otherGroups } from './other-groups.ts'
import { UpdateCheck } from './update-check.tsx'

export function OtherSettings() {
  const { t } = useTranslation()
  return (
    <WithOptions>
      {(options) => (
        <Sections
          label={t('其他设置')}
          sections={[
            { id: 'update', title: mark('更新'), content: <UpdateCheck /> },
            ...otherGroups.map((group) => ({
              id: group.id,
              title: group.title,
              content: <OptionGroupForm group={group} options={options} />,
            })),
          ]}
        />
      )}
    </WithOptions>
  )
}
