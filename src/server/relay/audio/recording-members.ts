/** The member of an object that holds a whole recording, in base64. */
export const SOUND = 'audio'

/** The member of an object that holds a text as it goes to the client, beside what it took. */
export const PLAIN_TEXT = 'plain_text'
