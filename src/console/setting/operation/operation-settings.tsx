import { useTranslation } from 'react-i18next'
import { OptionGroupForm } from '../option/option-group.tsx'
import type { OptionGroup } from '../option/option-field.ts'
import { Sections } from '../option/sections.tsx'
import { WithOptions } from '../option/with-options.tsx'
import { RatioEditor } from '../ratio/ratio-editor.tsx'
import { ClearHistory } from './clear-history.tsx'
import { priceGroup } from './price-group.ts'
import { generalGroup, logGroup, monitorGroup, quotaGroup, ratioGroup } from './operation-groups.ts'

export function OperationSettings() {
  const { t } = useTranslation()
  return (
    <WithOptions>
      {(options) => {
        const plain = (group: OptionGroup) => ({
          id: group.id,
          title: group.title,
          content: <OptionGroupForm group={group} options={options} />,
        })
        return (
          <Sections
            label={t('运营设置')}
            sections={[
              plain(generalGroup),
              {
                ...plain(logGroup),
                content: (
                  <>
                    <OptionGroupForm group={logGroup} options={options} />
                    <ClearHistory />
                  </>
                ),
              },
              plain(monitorGroup),
              plain(quotaGroup),
              {
                ...plain(ratioGroup),
                isWide: true,
                content: (
                  <OptionGroupForm group={ratioGroup} options={options}>
                    {(form) => <RatioEditor form={form} />}
                  </OptionGroupForm>
                ),
              },
              ...(options.has('ModelPrice') ? [plain(priceGroup)] : []),
            ]}
          />
        )
      }}
    </WithOptions>
  )
}
