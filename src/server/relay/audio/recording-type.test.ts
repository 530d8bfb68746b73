import { expect, test } from 'vitest'
import { recordingType } from './recording-type.ts'

test.each([
  ['RIFF\x24\0\0\0WAVEfmt ', 'audio/wav'],
  ['RIFF\x24\0\0\0AVI LIST', null],
  ['RF64\xff\xff\xff\xffWAVEds64', 'audio/wav'],
  ['FORM\0\0\0\x10AIFFCOMM', 'audio/aiff'],
  ['FORM\0\0\0\x10ILBMBMHD', null],
  ['fLaC\0\0\0\x22', 'audio/flac'],
  ['OggS\0\x02', 'audio/ogg'],
  ['\x1aE\xdf\xa3\x9f', 'audio/webm'],
  ['\0\0\0\x20ftypM4A ', 'audio/mp4'],
  ['ID3\x04\0\0', 'audio/mp3'],
  ['\xff\xfb\x90\0', 'audio/mp3'],
  ['\xff\xf1\x50\x80', 'audio/aac'],
  ['\xff\xd8\xff\xe0', null],
  ['%PDF-1.7', null],
  ['', null],
])('%j is %s', (begin, type) => {
  expect(recordingType(Buffer.from(begin, 'latin1'))).toBe(type)
})
