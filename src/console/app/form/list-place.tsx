import { useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { LinkButton } from '../link-button.tsx'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** What the list showed from which a form was opened, as its address says it. */
    listSearch?: Record<string, string>
    /** The form that was left for the list. */
    leftForm?: string
  }
}

/** From a row of the list in view to its form, which leads back to the same part of the list. */
export function EditLink({ to }: { to: string }) {
  const { t } = useTranslation()
  const wasThere = useLocation({ select: ({ state }) => state.leftForm === to })
  // Our parser makes every query a record of texts.
  const listSearch: Record<string, string> = useSearch({ strict: false })
  return (
    <LinkButton
      ref={wasThere ? goOnFromHeading : null}
      size="xs"
      variant="default"
      to={to}
      state={{ listSearch }}
    >
      {t('编辑')}
    </LinkButton>
  )
}

/** The heading has the focus while nobody has gone anywhere else in a page that came for another. */
function goOnFromHeading(link: HTMLElement | null) {
  if (document.activeElement?.tagName === 'H1') link?.focus()
}

/** Goes from a form to its list, as it was when the form was opened there. */
export function useGoToList(list: string): () => Promise<void> {
  const navigate = useNavigate()
  const { pathname, state } = useLocation()
  return () => navigate({ to: list, search: state.listSearch ?? {}, state: { leftForm: pathname } })
}
