import { useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { LinkButton } from '../link-button.tsx'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** What the list showed from which a form was opened, as its address says it. */
    listSearch?: Record<string, string>
  }
}

/** From a row of the list in view to its form, which leads back to the same part of the list. */
export function EditLink({ to }: { to: string }) {
  const { t } = useTranslation()
  // Our parser makes every query a record of texts.
  const listSearch: Record<string, string> = useSearch({ strict: false })
  return (
    <LinkButton size="xs" variant="default" to={to} state={{ listSearch }}>
      {t('编辑')}
    </LinkButton>
  )
}

/** Goes from a form to its list, as it was when the form was opened there. */
export function useGoToList(list: string): () => Promise<void> {
  const navigate = useNavigate()
  const search = useLocation({ select: ({ state }) => state.listSearch })
  return () => navigate({ to: list, search: search ?? {} })
}
