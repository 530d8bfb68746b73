/**
 * Returns the media type of a recording by its first bytes; null if it is no audio format that
 * models accept.
 */
export function recordingType(bytes: Buffer): string | null {
  const text = (at: number, length: number): string => bytes.toString('latin1', at, at + length)
  const begin = text(0, 4)
  if (/^(?:RIFF|RF64|BW64)$/.test(begin)) return text(8, 4) === 'WAVE' ? 'audio/wav' : null
  if (begin === 'FORM') return /^AIF[FC]$/.test(text(8, 4)) ? 'audio/aiff' : null
  if (text(4, 4) === 'ftyp') return 'audio/mp4'
  if (begin.startsWith('ID3')) return 'audio/mp3'
  const known = BEGINNINGS.get(begin)
  if (known !== undefined) return known
  const second = bytes[1] ?? 0
  if (bytes[0] !== 0xff || (second & 0xe0) !== 0xe0) return null
  // AAC and MP3 frames begin with the same bits; MPEG does not use layer 0.
  return (second & 0x06) === 0 ? 'audio/aac' : 'audio/mp3'
}

const BEGINNINGS: ReadonlyMap<string, string> = new Map([
  ['fLaC', 'audio/flac'],
  ['OggS', 'audio/ogg'],
  ['\x1aE\xdf\xa3', 'audio/webm'],
])
