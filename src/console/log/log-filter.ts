import { namedUser } from '../app/list/named-user.ts'

/** The filters of the log page, as its address names them. */
export type FilterName =
  | 'type'
  | 'token_name'
  | 'model_name'
  | 'channel'
  | 'username'
  | 'start'
  | 'end'
  | 'request_id'
  | 'request'
  | 'response'
/** Texts, empty where nothing is filtered. */
export type LogFilters = Readonly<Record<FilterName, string>>

export const filtersOf = (read: (name: FilterName) => string): LogFilters => ({
  type: read('type'),
  token_name: read('token_name'),
  model_name: read('model_name'),
  channel: read('channel'),
  username: read('username'),
  start: read('start'),
  end: read('end'),
  request_id: read('request_id'),
  request: read('request'),
  response: read('response'),
})

/** A number of the address; 0 for anything else, which filters nothing. */
export const numberOf = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : 0)

export interface LogQuery {
  type: number
  token_name: string
  model_name: string
  start_timestamp: number
  end_timestamp: number
  request_id: string
  request: string
  response: string
}

/** What is asked of the server; `endSeconds` where the address names no end. */
export function toQuery(filters: LogFilters, endSeconds: number): LogQuery {
  return {
    type: numberOf(filters.type),
    token_name: filters.token_name,
    model_name: filters.model_name,
    start_timestamp: numberOf(filters.start),
    end_timestamp: numberOf(filters.end) || endSeconds,
    request_id: filters.request_id,
    request: filters.request,
    response: filters.response,
  }
}

/** Only administrators may look at others. */
export function toAdminQuery(filters: LogFilters, endSeconds: number) {
  return {
    ...toQuery(filters, endSeconds),
    ...namedUser(filters.username),
    channel: numberOf(filters.channel),
  }
}

/** Filters that are set, for people who cannot see their fields. */
export const countSet = (filters: LogFilters, names: readonly FilterName[]): number =>
  names.filter((name) => filters[name] !== '').length
