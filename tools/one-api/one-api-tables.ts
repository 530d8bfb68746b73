import { recordedBody } from './recorded-answer.ts'

export type Row = Record<string, unknown> & { id: number }

/** State of the server. */
export interface Tables {
  /** By the first segment of their paths. */
  rows: Record<string, Row[]>
  logs: Row[]
  /** As ordinary users receive them: every id is 0. */
  ownLogs: Row[]
  options: Map<string, string>
}

/** Rows as a real server listed them, some with the NULLs of older databases. */
export function oneApiTables(): Tables {
  const channels = listed('channels', 'list')
  const tokens = listed('tokens', 'list')
  return {
    rows: {
      token: tokens.map((row, index) => (index === 0 ? { ...row, subnet: null } : row)),
      channel: channels.map((row, index) =>
        index === 0 ? { ...row, ...channelNulls } : { ...row, base_url: 'http://127.0.0.1:9' },
      ),
      user: listed('users', 'list'),
      redemption: listed('redemptions', 'list'),
    },
    logs: [...listed('relay', 'root’s log'), { ...plainLog, id: 900, type: 9 }],
    ownLogs: listed('relay', 'own log'),
    options: new Map([
      ['SystemName', 'One API'],
      ['RetryTimes', '0'],
      ['QuotaPerUnit', '500000'],
      ['ModelRatio', '{"gpt-4o-mini":0.075}'],
      ['CompletionRatio', '{}'],
      ['GroupRatio', '{"default":1,"vip":1}'],
    ]),
  }
}

/** A channel written by an early version. */
const channelNulls = {
  name: 'ancient',
  base_url: null,
  other: null,
  models: null,
  model_mapping: null,
  system_prompt: null,
  config: null,
  weight: null,
  priority: null,
}

const plainLog = {
  user_id: 1,
  created_at: 1_795_262_000,
  content: 'of a type that nobody knows',
  username: 'root',
  token_name: '',
  model_name: '',
  quota: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  channel: 0,
}

function listed(recording: string, step: string): Row[] {
  const { data } = Object(recordedBody(recording, step))
  return structuredClone(data)
}
