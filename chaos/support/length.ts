import { testLength } from '@holt/testkit'

/** True if every case runs: with `HOLT_TEST_LENGTH=long` and with `soak`. */
export const every = testLength() !== 'short'

/**
 * True if attacks and load run at length: with `HOLT_TEST_LENGTH=soak`, as in `npm run test:chaos`.
 */
export const long = testLength() === 'soak'

/** Returns one value for a run at length, and another for any other run. */
export function short<Value>(briefly: Value, atLength: Value): Value {
  return long ? atLength : briefly
}
