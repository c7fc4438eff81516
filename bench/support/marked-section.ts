/** Where a page keeps what `bench/all.ts` writes. */
export const benchMarkers = { begin: '<!-- bench:begin -->', end: '<!-- bench:end -->' } as const

/** Puts `section` between the markers of a page, in place of what is there. Null where the page has not both, in order. */
export function replaceMarkedSection(page: string, section: string): string | null {
  const begin = page.indexOf(benchMarkers.begin)
  const end = page.indexOf(benchMarkers.end)
  if (begin === -1 || end < begin) return null
  return `${page.slice(0, begin + benchMarkers.begin.length)}\n${section.trim()}\n${page.slice(end)}`
}

/** What stands between the markers of a page. Null where the page has not both, in order. */
export function readMarkedSection(page: string): string | null {
  const begin = page.indexOf(benchMarkers.begin)
  const end = page.indexOf(benchMarkers.end)
  return begin === -1 || end < begin ? null : page.slice(begin + benchMarkers.begin.length, end)
}
