import { useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { LinkButton } from '../link-button.tsx'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Query of the list from which the form was opened. */
    listSearch?: Record<string, string>
    /** Path of the form from which the list was opened. */
    leftForm?: string
  }
}

/** Link from a row to its form, from which the user returns to the same part of the list. */
export function EditLink({ to }: { to: string }) {
  const { t } = useTranslation()
  const wasThere = useLocation({ select: ({ state }) => state.leftForm === to })
  // The router's parser makes every query a record of strings.
  const listSearch: Record<string, string> = useSearch({ strict: false })
  return (
    <LinkButton
      ref={wasThere ? focusFromHeading : null}
      size="xs"
      variant="default"
      to={to}
      state={{ listSearch }}
    >
      {t('编辑')}
    </LinkButton>
  )
}

/** The heading has the focus until the user moves it. */
function focusFromHeading(link: HTMLElement | null) {
  if (document.activeElement?.tagName === 'H1') link?.focus()
}

/** Navigates from a form to its list, in the state in which the form was opened. */
export function useGoToList(list: string): () => Promise<void> {
  const navigate = useNavigate()
  const { pathname, state } = useLocation()
  return () => navigate({ to: list, search: state.listSearch ?? {}, state: { leftForm: pathname } })
}
