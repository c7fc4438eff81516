/** What a column holds as JSON; undefined where its row is damaged. */
export function storedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // No JSON is undefined, so that callers tell it from all that was written.
  }
}
