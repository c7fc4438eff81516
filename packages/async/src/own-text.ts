/**
 * Returns a copy of a text in memory of its own. In V8, a part taken by `slice`, `split` or a
 * pattern is no copy (`SlicedString` of src/objects/string.h), and keeps the whole text in memory.
 * Use it for a part that is kept of a text that others can make large.
 */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text))
}
