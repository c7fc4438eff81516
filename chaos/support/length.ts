/** Whether the long version of the tests runs: `HOLT_CHAOS=long`, as `npm run test:chaos` has it. */
export const long = process.env.HOLT_CHAOS === 'long'

/** What a test does in its short version, as in `npm test`, and in its long one. */
export function short<Value>(briefly: Value, atLength: Value): Value {
  return long ? atLength : briefly
}
