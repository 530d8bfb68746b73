import { type ReactNode, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { type Change, Form, SaveBar } from '../../ui/form.tsx'
import { Page } from '../../ui/page.tsx'
import { type TypedValues, useFormDraft } from './form-drafts.ts'
import { LeaveQuestion } from './leave-question.tsx'
import { useGoToList } from './list-navigation.tsx'

interface FormPageProps<Values extends object> {
  title: string
  /** Name of the edited record; undefined for a new one. */
  name: string | undefined
  actions?: ReactNode
  onSubmit: () => void
  saving: { isBusy: boolean; failure: string; doubt: string; isSaved: () => boolean }
  typed: TypedValues<Values>
  /** Differences from the stored record. */
  changes: readonly Change[]
  /** Shown while there are no changes. */
  note?: string
  /** Path of the list to return to on cancel. */
  list: string
  children: ReactNode
}

/** A page that creates or edits one record of a list. */
export function FormPage<Values extends object>(props: FormPageProps<Values>) {
  const { title, name, actions, onSubmit, saving, changes, note = '', list, children } = props
  const { t } = useTranslation()
  const goToList = useGoToList(list)
  // Pressing 取消 already confirms leaving the page.
  const isGivenUp = useRef(false)
  const isNew = name === undefined
  const { isDirty } = props.typed
  useFormDraft(props.typed)
  return (
    <Page title={title} facts={name} actions={actions}>
      <Form label={title} onSubmit={onSubmit}>
        {children}
        <SaveBar
          label={isNew ? t('创建') : t('保存')}
          isBusy={saving.isBusy}
          failure={saving.failure}
          doubt={saving.doubt}
          note={note}
          changes={isNew ? [] : changes}
          needsChanges={!isNew}
          cancelLabel={t('取消')}
          onCancel={() => {
            isGivenUp.current = true
            void goToList()
          }}
        />
      </Form>
      <LeaveQuestion isNeeded={() => isDirty && !saving.isSaved() && !isGivenUp.current} />
    </Page>
  )
}
