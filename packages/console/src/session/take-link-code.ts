const linkFragment = /^#code=([A-Za-z0-9_-]{43})$/

/**
 * Returns the code of a link that signs in, and removes it from the address and the history. It is
 * in the fragment, which browsers send to no server. Null if there is none.
 */
export function takeLinkCode(): string | null {
  const [, code] = linkFragment.exec(location.hash) ?? []
  if (code === undefined) return null
  history.replaceState(null, '', location.pathname + location.search)
  return code
}

/**
 * Loads the page again when a link that signs in is opened in this tab. It differs from the page
 * only in its fragment, so the browser loads nothing.
 */
export function followLinks(): void {
  addEventListener('hashchange', () => {
    if (linkFragment.test(location.hash)) location.reload()
  })
}
