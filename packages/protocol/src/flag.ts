/** Returns true if a flag of a query is `true` or `1`. An absent flag is not set. */
export function isSet(value: string | undefined): boolean {
  return value === 'true' || value === '1'
}
