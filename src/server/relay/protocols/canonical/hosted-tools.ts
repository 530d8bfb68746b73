import { AppError } from '../../../app-error.ts'
import type { RequestNotes } from './request-notes.ts'

/**
 * Handles a tool that its vendor runs and another upstream does not have. It is left out with a
 * note if the option `DropHostedTools` is on; otherwise it is rejected by name.
 *
 * @param type The client's name of the tool, such as `web_search` or `googleSearch`.
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
