/** A channel is a configured connection to an upstream. */
export const ChannelStatus = { enabled: 1, disabled: 2, autoDisabled: 3 } as const

/**
 * Members of `config` that every type has. `proxy`: address of an HTTP proxy for this channel's
 * calls; `header_override`: an object from names of headers to texts, empty to leave one out,
 * `{api_key}` stands for the key; `param_override`: an object whose members replace those of the
 * request's body.
 */
export const OVERRIDE_MEMBERS = ['proxy', 'header_override', 'param_override'] as const

/** Members of `config` whose values are secret: never answered, only whether they are set. */
export const SECRET_CONFIG_MEMBERS = [
  'ak',
  'sk',
  'vertex_ai_adc',
  'proxy',
  'header_override',
] as const

export const CONFIG_MEMBERS = [
  'region',
  'sk',
  'ak',
  'user_id',
  'api_version',
  'deployment_dots',
  'library_id',
  'plugin',
  'vertex_ai_project_id',
  'vertex_ai_adc',
] as const

/** Channels that one call names at most. */
export const BATCH_IDS_MAX = 1000
