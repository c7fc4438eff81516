/**
 * Returns the labels that differ from those of the opened form, as a merge patch: null removes a
 * label. Labels that somebody else sets meanwhile are not among them.
 */
export function changedLabels(
  before: Readonly<Record<string, string>>,
  after: readonly (readonly [key: string, value: string])[],
): Record<string, string | null> {
  const known = new Map(Object.entries(before))
  const kept = new Set(after.map(([key]) => key))
  const removed = [...known.keys()].filter((key) => !kept.has(key)).map((key) => [key, null] as const)
  return Object.fromEntries([...removed, ...after.filter(([key, value]) => known.get(key) !== value)])
}
