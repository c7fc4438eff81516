/** The comments around a section of a page that `bench/render.ts` writes. */
export interface Markers {
  readonly begin: string
  readonly end: string
}

/** Returns the markers with a name. */
export function markersOf(name: 'bench' | 'bench-summary' | 'bench-missed'): Markers {
  return { begin: `<!-- ${name}:begin -->`, end: `<!-- ${name}:end -->` }
}

/** Returns the text between the markers of a page; null if the page does not have both in order. */
export function markedSection(page: string, markers: Markers): string | null {
  const begin = page.indexOf(markers.begin)
  const end = page.indexOf(markers.end)
  if (begin === -1 || end < begin) return null
  return page.slice(begin + markers.begin.length, end).trim()
}

/**
 * Replaces the section between the markers of a page. Returns null if the page does not have both
 * in order.
 */
export function replaceMarkedSection(page: string, section: string, markers: Markers): string | null {
  const begin = page.indexOf(markers.begin)
  const end = page.indexOf(markers.end)
  if (begin === -1 || end < begin) return null
  return `${page.slice(0, begin + markers.begin.length)}\n${section.trim()}\n${page.slice(end)}`
}
