const NEVER = -1

/** Expiry times of a token as JSON texts, and whether they are valid. */
export const EXPIRIES: readonly (readonly [what: string, json: string, isFine: boolean])[] = [
  ['never', String(NEVER), true],
  ['nothing', '0', true],
  ['less than never', '-2', false],
  ['long ago', '1', true],
  ['31 bits', '2147483648', true],
  ['the year 2100', '4102444800', true],
  ['the year 10000', '253402300800', true],
  ['milliseconds', '1800000000000', true],
  ['the last date', '8640000000000', true],
  ['after the last date', '8640000000000001', true],
  ['a fraction', '1800000000.5', false],
  ['a date', '"2027-02-30"', false],
  ['a month too many', '"2027-13-01"', false],
  ['midnight', '"24:00:00"', false],
  ['a date with a zone', '"2027-01-01T00:00:00+08:00"', false],
  ['other digits', '"١٨٠٠٠٠٠٠٠٠"', false],
  ['a text', '"tomorrow"', false],
  ['more than a number holds', '1e21', false],
]

/** Time ranges of a log query; all of them get a response. */
export const RANGES: readonly (readonly [what: string, query: string])[] = [
  ['backwards', 'start_timestamp=1800000000&end_timestamp=1700000000'],
  ['a hundred years', 'start_timestamp=1&end_timestamp=3155760000'],
  ['without an end', 'start_timestamp=1700000000'],
  ['without a start', 'end_timestamp=1800000000'],
  ['nothing at both ends', 'start_timestamp=0&end_timestamp=0'],
  ['less than nothing', 'start_timestamp=-5&end_timestamp=-1'],
  ['texts', 'start_timestamp=yesterday&end_timestamp=now'],
  ['dates', 'start_timestamp=2027-01-01&end_timestamp=2027-01-31T24:00:00'],
  ['milliseconds', 'start_timestamp=1700000000000&end_timestamp=1800000000000'],
  ['fractions', 'start_timestamp=1700000000.5&end_timestamp=1800000000.5'],
  ['after the last date', 'start_timestamp=8640000000001&end_timestamp=999999999999999'],
  ['more than a number holds', 'start_timestamp=99999999999999999999&end_timestamp=1e400'],
  ['one second', 'start_timestamp=1800000000&end_timestamp=1800000000'],
  ['the edge of an hour', 'start_timestamp=1799999999&end_timestamp=1800000001'],
]
