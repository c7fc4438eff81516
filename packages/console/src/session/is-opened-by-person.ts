/**
 * Returns true if a person has opened this page: by its address, a bookmark, or a program such as
 * `holt console`. False if a page of another site may have done it. Only the service sees which, by
 * `Sec-Fetch-Site`, and it says so in the header `Server-Timing`.
 */
export function isOpenedByPerson(): boolean {
  const [visit] = performance.getEntriesByType('navigation')
  const facts = visit instanceof PerformanceNavigationTiming ? visit.serverTiming : []
  return facts.some(({ name, description }) => name === 'opened' && description === 'by-person')
}
