/** Returns the parts of an address that have a text. */
export function withoutEmpty(search: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(search).filter(([, text]) => text !== undefined && text !== '')) as Record<
    string,
    string
  >
}
