import { testLength } from '@holt/testkit'

/** True if every case runs: with `HOLT_TEST_LENGTH=long` and with `soak`. */
export const every = testLength() !== 'short'

/** True if attacks and load go on at length: with `HOLT_TEST_LENGTH=soak`, as `npm run test:chaos` has it. */
export const long = testLength() === 'soak'

/** Returns the value for a run at length, or for any other run. */
export function short<Value>(briefly: Value, atLength: Value): Value {
  return long ? atLength : briefly
}
