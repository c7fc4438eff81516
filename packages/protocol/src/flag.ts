/** Whether a flag of a query is set: `true` or `1`. One that is absent is not. */
export function isSet(value: string | undefined): boolean {
  return value === 'true' || value === '1'
}
