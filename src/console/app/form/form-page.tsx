import { type ReactNode, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { type Change, Form, SaveBar } from '../../ui/form.tsx'
import { Page } from '../../ui/page.tsx'
import { type TypedValues, useKeptForm } from './kept-forms.ts'
import { LeaveQuestion } from './leave-question.tsx'
import { useGoToList } from './list-place.tsx'

interface FormPageProps<Values> {
  title: string
  /** The name of what is edited; absent: something new is made. */
  name: string | undefined
  actions?: ReactNode
  onSubmit: () => void
  saving: { isBusy: boolean; failure: string; doubt: string; isSaved: () => boolean }
  typed: TypedValues<Values>
  /** What differs from what is stored. */
  changes: readonly Change[]
  /** Shown while nothing is changed. */
  note?: string
  /** The list that giving up leads to. */
  list: string
  children: ReactNode
}

/** A page that makes or changes one thing of a list. */
export function FormPage<Values>(props: FormPageProps<Values>) {
  const { title, name, actions, onSubmit, saving, changes, note = '', list, children } = props
  const { t } = useTranslation()
  const goToList = useGoToList(list)
  // Pressing 取消 answers the question that leaving would ask.
  const isGivenUp = useRef(false)
  const isNew = name === undefined
  const { isDirty } = props.typed
  useKeptForm(props.typed)
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
