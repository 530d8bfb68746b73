/**
 * Texts for any text field: pasted texts, mistakes of scripts and attacks. The tests of each field
 * state the expected result.
 */
export const TEXTS: readonly (readonly [what: string, text: string])[] = [
  ['nothing', ''],
  ['a space', ' '],
  ['a tab', 'a\tb'],
  ['a space that does not break', 'a\u00A0b'],
  ['an ideographic space', 'a\u3000b'],
  ['a space of no width', 'a\u200Bb'],
  ['a word joiner', 'a\u2060b'],
  ['a byte order mark', '\uFEFFa'],
  ['an override of the direction', 'a\u202Etxt.exe'],
  ['isolates', 'a\u2066b\u2069'],
  ['the character 0', 'a\u0000b'],
  ['a header', 'x\r\nX-Injected: 1'],
  ['a line end', 'a\nb'],
  ['a line separator', 'a\u2028b'],
  ['a paragraph separator', 'a\u2029b'],
  ['an escape sequence', '\u001B[2J'],
  ['the bell', 'a\u0007'],
  ['the character 127', 'a\u007F'],
  ['a C1 control', 'a\u009B'],
  ['half a character', 'a\uD800'],
  ['an accent in one', '\u00E9'],
  ['an accent apart', 'e\u0301'],
  ['wide letters', 'ａｄｍｉｎ'],
  ['Cyrillic letters', 'аdmin'],
  ['Turkish letters', 'İı'],
  ['a sharp s', 'ßSS'],
  ['the sign of Kelvin', '\u212A'],
  ['a ligature', 'ﬁ'],
  ['a final sigma', 'σς'],
  ['a family', '👨‍👩‍👧‍👦'],
  ['a hundred accents', `a${'\u0301'.repeat(100)}`],
  ['256 bytes', 'x'.repeat(256)],
  ['64 KiB', 'x'.repeat(2 ** 16)],
  ['a mebibyte', 'x'.repeat(2 ** 20)],
  ['SQL', `' OR '1'='1`],
  ['SQL with an end', `'; DROP TABLE users;--`],
  ['SQL in other quotes', `" OR ""="`],
  ['a percent sign', '%'],
  ['an underscore', '_'],
  ['many percent signs', '%'.repeat(64)],
  ['a backslash', '\\'],
  ['an escaped percent sign', '\\%'],
  ['a template', '{{7*7}}'],
  ['a place', '${7*7}'],
  ['a server page', '<%= 7*7 %>'],
  ['an interpolation', '#{7*7}'],
  ['a shell command', '$(id)'],
  ['a quoted command', '`id`'],
  ['a pipe', '|id'],
  ['a second command', ';sleep 10'],
  ['a path', '../../etc/passwd'],
  ['an escaped path', '..%2f..%2f'],
  ['an escaped end', '%00.txt'],
  ['a device', 'C:\\con'],
  ['a share', '\\\\host\\share'],
  ['a file', 'file:///etc/passwd'],
  ['markup', '<img src=x onerror=alert(1)>'],
  ['a formula', '=1+1'],
  ['null', 'null'],
  ['undefined', 'undefined'],
  ['NaN', 'NaN'],
  ['true', 'true'],
  ['an object as text', '[object Object]'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['toString', 'toString'],
  ['hasOwnProperty', 'hasOwnProperty'],
  ['root', 'root'],
  ['commas', ',,a,,b,'],
]

/**
 * Texts that a name must not contain: they break a line, are invisible or reverse the direction.
 */
export const UNREADABLE_TEXTS: ReadonlySet<string> = new Set([
  'a tab',
  'an override of the direction',
  'isolates',
  'the character 0',
  'a header',
  'a line end',
  'a line separator',
  'a paragraph separator',
  'an escape sequence',
  'the bell',
  'the character 127',
  'a C1 control',
  'half a character',
])

/** Texts similar to a reserved name, or to an earlier text of the list. */
export const LOOK_ALIKES: ReadonlySet<string> = new Set([
  'root',
  'an ideographic space',
  'an accent apart',
  'wide letters',
  'Cyrillic letters',
])

/** Texts around a limit, with characters of one, three and four bytes: only characters count. */
export const textsAround = (
  max: number,
): (readonly [what: string, text: string, fits: boolean])[] =>
  ['a', '字', '𠮷', '👩'].flatMap((character) => [
    [`${max - 1} × ${character}`, character.repeat(max - 1), true] as const,
    [`${max} × ${character}`, character.repeat(max), true] as const,
    [`${max + 1} × ${character}`, character.repeat(max + 1), false] as const,
  ])

const STORED: ReadonlySet<string> = new Set([
  'nothing',
  'a space that does not break',
  'an override of the direction',
  'the character 0',
  'a line end',
  'half a character',
  'an accent in one',
  'an accent apart',
  'wide letters',
  'Turkish letters',
  'a sharp s',
  'the sign of Kelvin',
  'a family',
  '256 bytes',
  '64 KiB',
  'a mebibyte',
  'SQL',
  'SQL with an end',
  'a percent sign',
  'an underscore',
  'many percent signs',
  'a backslash',
  'an escaped percent sign',
  '__proto__',
  'root',
])

/**
 * Texts that databases may treat differently: they cannot store them, compare them by their own
 * rules, or interpret them as patterns or SQL. All other texts are checked only by parser and
 * rules.
 */
export const STORED_TEXTS = TEXTS.filter(([what]) => STORED.has(what))
