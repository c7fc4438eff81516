/**
 * The same text in memory of its own. A part of a text that was taken by `slice`, `split` or a
 * pattern is no copy in V8 (`SlicedString` of src/objects/string.h): whoever keeps it keeps the
 * whole text, as long as that may be. For what is kept of something that somebody else makes large.
 */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text))
}
