/** A channel is a configured connection to an upstream. */
export const ChannelStatus = { enabled: 1, disabled: 2, autoDisabled: 3 } as const

/**
 * Members of `config` that every type has. `proxy` is the HTTP proxy of the channel.
 * `header_override` is an object of header names and values: an empty value removes the header,
 * `{api_key}` is replaced with the key. `param_override` is an object whose members replace those
 * of the request body.
 */
export const OVERRIDE_MEMBERS = ['proxy', 'header_override', 'param_override'] as const

/** Members of `config` with secret values: responses contain only whether they are set. */
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

/** Maximum number of channels in one request. */
export const BATCH_IDS_MAX = 1000
