/**
 * Returns the code of a link that signs in, and removes it from the address and the history. It is
 * in the fragment, which browsers send to no server. Null if there is none.
 */
export function takeLinkCode(): string | null {
  const [, code] = /^#code=([A-Za-z0-9_-]{43})$/.exec(location.hash) ?? []
  if (code === undefined) return null
  history.replaceState(null, '', location.pathname + location.search)
  return code
}
