import { useTranslation } from 'react-i18next'
import { localText } from '../app/i18n.ts'
import { groupsOn, type OptionGroup } from './option/option-field.ts'
import { OptionGroupForm } from './option/option-group.tsx'
import type { Options } from './option/options.ts'
import { Sections } from './option/sections.tsx'
import { WithOptions } from './option/with-options.tsx'
import { ProviderEditor } from './sign-in/provider-editor.tsx'
import { TestMail } from './test-mail.tsx'

/** The providers are sent to root only, and not by an older server. */
const isShown = ({ id }: OptionGroup, options: Options): boolean =>
  id !== 'sign-in-providers' || options.has('SignInProviders')

export function SystemSettings() {
  const { t } = useTranslation()
  return (
    <WithOptions>
      {(options) => (
        <Sections
          label={t('系统设置')}
          sections={groupsOn('system')
            .filter((group) => isShown(group, options))
            .map((group) => ({
              id: group.id,
              title: localText(group.title),
              content: (
                <>
                  <OptionGroupForm group={group} options={options}>
                    {group.id === 'sign-in-providers'
                      ? (form) => <ProviderEditor form={form} />
                      : undefined}
                  </OptionGroupForm>
                  {group.id === 'smtp' && <TestMail />}
                </>
              ),
            }))}
        />
      )}
    </WithOptions>
  )
}
