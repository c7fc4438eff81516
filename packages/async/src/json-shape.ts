/** The bounds on the shape of JSON. */
export interface JsonBounds {
  /** The largest depth of nested objects and arrays. */
  readonly maxDepth: number
  readonly maxValues: number
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openObject, closeObject, openArray, closeArray] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Returns which bound JSON text exceeds, before it is parsed. A parser takes about fifty bytes for
 * each bracket, and the process does nothing else meanwhile. Returns null if no bound is exceeded,
 * or if the text is not JSON, which the parser reports.
 */
export function oddShapeOf(bytes: Buffer, { maxDepth, maxValues }: JsonBounds): string | null {
  let depth = 0
  let values = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) at = endOfText(bytes, at)
    else if (byte === comma) values += 1
    else if (byte === openObject || byte === openArray) {
      depth += 1
      values += 1
      if (depth > maxDepth) return `be nested deeper than ${maxDepth}`
    } else if (byte === closeObject || byte === closeArray) depth -= 1
    if (values > maxValues) return `have more than ${maxValues} values`
  }
  return null
}

/**
 * Returns the place of the quote that ends a text, or the end of the bytes. A text usually contains
 * no quote. From the first escaped quote on, each byte is compared. That is faster than a search
 * that finds two million quotes.
 */
function endOfText(bytes: Buffer, start: number): number {
  const first = bytes.indexOf(quote, start + 1)
  if (first < 0) return bytes.length
  let before = first - 1
  while (bytes[before] === backslash) before -= 1
  if ((first - before) % 2 === 1) return first
  for (let at = first + 1; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === backslash) at += 1
    else if (byte === quote) return at
  }
  return bytes.length
}
