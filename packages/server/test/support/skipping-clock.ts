/** A clock that goes as the machine's does, and further ahead whenever a test says so. */
export function skippingClock() {
  let aheadMs = 0
  return {
    now: () => Date.now() + aheadMs,
    skip: (ms: number) => {
      aheadMs += ms
    },
  }
}
