/** How odd JSON may be. */
export interface JsonBounds {
  /** How deep objects and arrays may be nested. */
  readonly maxDepth: number
  readonly maxValues: number
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openObject, closeObject, openArray, closeArray] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Says what JSON may not do and does, before anything is made of it: a parser takes some fifty bytes for each bracket, and the process does nothing else meanwhile. Null: nothing
 * is, or it is no JSON at all, which is left to the parser.
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

/** Where a text ends that begins at a quote: at the next quote before which there is an even number of backslashes. */
function endOfText(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let before = end - 1
    while (bytes[before] === backslash) before -= 1
    if ((end - before) % 2 === 1) return end
  }
  return bytes.length
}
