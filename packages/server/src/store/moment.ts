/** A time as the API writes it: RFC 3339, UTC, milliseconds. */
export function moment(ms: number): string {
  return new Date(ms).toISOString()
}

/** A time that may be absent. */
export function momentOrNull(ms: number | null): string | null {
  return ms === null ? null : moment(ms)
}
