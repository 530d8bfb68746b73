/** Member of an object with a whole recording, in base64. */
export const SOUND = 'audio'

/** Member of an object with the text for the client, beside the usage. */
export const PLAIN_TEXT = 'plain_text'
