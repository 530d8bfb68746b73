const MEBIBYTE = 2 ** 20
const MEBIBYTES_MAX = 8

/** Bodies of the management API, bytes. */
export const API_BODY_BYTES_MAX = MEBIBYTES_MAX * MEBIBYTE

/** What fills the sentence of a body that is larger. */
export const BODY_LIMIT = { limit: MEBIBYTES_MAX }
