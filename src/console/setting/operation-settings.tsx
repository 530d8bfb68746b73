import { useTranslation } from 'react-i18next'
import { localText } from '../app/i18n.ts'
import { groupsOn, type OptionGroup } from './option/option-field.ts'
import { OptionGroupForm } from './option/option-group.tsx'
import type { Options } from './option/options.ts'
import { Sections } from './option/sections.tsx'
import { WithOptions } from './option/with-options.tsx'
import { RatioEditor } from './ratio/ratio-editor.tsx'
import { ClearHistory } from './clear-history.tsx'

function GroupForm({ group, options }: { group: OptionGroup; options: Options }) {
  return (
    <OptionGroupForm group={group} options={options}>
      {group.id === 'ratio' ? (form) => <RatioEditor form={form} /> : undefined}
    </OptionGroupForm>
  )
}

export function OperationSettings() {
  const { t } = useTranslation()
  return (
    <WithOptions>
      {(options) => (
        <Sections
          label={t('运营设置')}
          sections={groupsOn('operation')
            // A One API server does not have these.
            .filter(({ id }) => id !== 'price' || options.has('ModelPrice'))
            // Only root has these, and only with a server that supports them.
            .filter(({ id }) => id !== 'audit' || options.has('AuditSink'))
            .map((group) => ({
              id: group.id,
              title: localText(group.title),
              isWide: group.id === 'ratio',
              content: (
                <>
                  <GroupForm group={group} options={options} />
                  {group.id === 'log' && <ClearHistory />}
                </>
              ),
            }))}
        />
      )}
    </WithOptions>
  )
}
