/** A result with output: of a command, or of code. */
interface WithOutput {
  readonly stdout: string
  readonly stderr: string
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean }
}

/**
 * Returns a result with its output cut to a number of bytes of JSON. Each stream keeps its
 * beginning, and `truncated` is set. The other fields are not cut, and may be too long by
 * themselves.
 */
export function shortenResult<Result extends WithOutput>(result: Result, maxBytes: number): Result {
  const cut = { ...result.truncated, stdout: true, stderr: true }
  const rest = jsonBytes({ ...result, stdout: '', stderr: '', truncated: cut })
  const half = Math.max(0, Math.floor((maxBytes - rest) / 2))
  const [stdout, stderr] = [beginning(result.stdout, half), beginning(result.stderr, half)]
  const truncated = {
    ...result.truncated,
    stdout: result.truncated.stdout || stdout.length < result.stdout.length,
    stderr: result.truncated.stderr || stderr.length < result.stderr.length,
  }
  return { ...result, stdout, stderr, truncated }
}

/**
 * Returns the longest beginning of a text that takes at most `maxBytes` between the quotes of a
 * JSON string.
 */
function beginning(text: string, maxBytes: number): string {
  let [fits, end] = [0, Math.min(text.length, maxBytes)]
  while (fits < end) {
    const middle = Math.ceil((fits + end) / 2)
    if (jsonBytes(text.slice(0, middle)) - 2 <= maxBytes) fits = middle
    else end = middle - 1
  }
  const cutsPair = fits < text.length && /[\uD800-\uDBFF]$/.test(text.slice(Math.max(0, fits - 1), fits))
  return text.slice(0, cutsPair ? fits - 1 : fits)
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
