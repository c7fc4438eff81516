const lengths = ['short', 'long', 'soak'] as const

/**
 * The length of a test run. `short`: a seeded share of the cases, as in `npm test`. `long`: every
 * case, as in `npm run test:long`. `soak`: every case, with attacks and load that last long enough
 * to measure.
 */
export type Length = (typeof lengths)[number]

/**
 * Returns the length in `HOLT_TEST_LENGTH`, or `short` if it is empty. Throws on any other value.
 */
export function testLength(setting = process.env.HOLT_TEST_LENGTH): Length {
  if (setting === undefined || setting === '') return 'short'
  const length = lengths.find((one) => one === setting)
  if (length === undefined)
    throw new Error(`HOLT_TEST_LENGTH is "${setting}"; set it to ${lengths.join(', ')}, or leave it out`)
  return length
}

/** Returns the value for the length of this run. */
export function byLength<Value>(values: Readonly<Record<Length, Value>>): Value {
  return values[testLength()]
}

/**
 * Returns the number of rounds of this run: that of `HOLT_TEST_ROUNDS`, or the one of its length.
 * Throws if the variable is no whole number above 0.
 */
export function roundsOf(values: Readonly<Record<Length, number>>, setting = process.env.HOLT_TEST_ROUNDS): number {
  if (setting === undefined || setting === '') return byLength(values)
  if (!/^[1-9]\d*$/.test(setting))
    throw new Error(`HOLT_TEST_ROUNDS is "${setting}"; set it to a whole number above 0, or leave it out`)
  return Number(setting)
}
