/**
 * Bytes a second at the most, by which a recording lasts at least so long, whatever its head says.
 */

/** 512 kbit/s: neither AAC nor Opus nor Vorbis makes more of speech. */
export const SOUND_BYTES_PER_SECOND_MAX = 64_000
/** With moving images: 20 Mbit/s. */
export const VIDEO_BYTES_PER_SECOND_MAX = 2_500_000
