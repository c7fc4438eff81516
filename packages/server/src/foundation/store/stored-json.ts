/** Returns the value of a column that holds JSON; undefined if its row is damaged. */
export function storedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // JSON has no undefined, so it differs from every stored value.
  }
}
