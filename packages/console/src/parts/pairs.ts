/** Returns the map of a text with a `KEY=VALUE` in each line; undefined if it has none. */
export function pairsOf(text: string): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return undefined
  return Object.fromEntries(
    lines.map((line) => {
      const [key = '', ...rest] = line.split('=')
      return [key.trim(), rest.join('=')]
    }),
  )
}
