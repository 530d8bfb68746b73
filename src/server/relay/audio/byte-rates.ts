/**
 * Maximum bytes per second of recordings. They give a minimum duration, independent of the file's
 * own header.
 */

/** 512 kbit/s: AAC, Opus and Vorbis never use more for speech. */
export const SOUND_BYTES_PER_SECOND_MAX = 64_000
/** 20 Mbit/s, for recordings with video. */
export const VIDEO_BYTES_PER_SECOND_MAX = 2_500_000
