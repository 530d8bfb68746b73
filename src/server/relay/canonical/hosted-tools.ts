import { AppError } from '../../app-error.ts'
import type { RequestNotes } from './request-notes.ts'

/**
 * A tool that its vendor runs, and that another upstream cannot have. It is left out with a note if
 * the operator wants that (option `DropHostedTools`); else it is refused by its name.
 *
 * @param type The client's word for the tool, such as `web_search` or `googleSearch`.
 */
export function dropHostedTool(notes: RequestNotes, type: string, field: string): void {
  if (notes.dropsHostedTools) {
    notes.drop(`tools.${type.replace(/[^\w.-]/g, '_')}`)
    return
  }
  const code = SEARCHES.test(type)
    ? 'relay_field_search_unsupported'
    : 'relay_field_tool_unsupported'
  throw new AppError(code, { field: field.slice(0, SHOWN_MAX), tool: type.slice(0, SHOWN_MAX) })
}

const SHOWN_MAX = 128
const SEARCHES = /^web_search/
