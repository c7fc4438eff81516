/** Returns the ends of an axis of times, in seconds. A single time is in the middle of a minute. */
export function timeRange(_: unknown, low: number | null, high: number | null): [number | null, number | null] {
  return low !== null && low === high ? [low - 30, low + 30] : [low, high]
}
