import { namedUser } from '../app/list/named-user.ts'

/** Filters of the log page, by their names in the address. */
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
/** Filter texts; empty if not set. */
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

/** Parses a number from the address; 0 for anything else, which sets no filter. */
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

/** Query of the request; `endSeconds` is used if the address has no end. */
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

/** Only administrators can query other users. */
export function toAdminQuery(filters: LogFilters, endSeconds: number) {
  return {
    ...toQuery(filters, endSeconds),
    ...namedUser(filters.username),
    channel: numberOf(filters.channel),
  }
}

/** Number of filters that are set, shown while their fields are hidden. */
export const countSet = (filters: LogFilters, names: readonly FilterName[]): number =>
  names.filter((name) => filters[name] !== '').length
