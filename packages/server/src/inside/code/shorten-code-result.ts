import type { CodeResult } from '@holt/protocol'
import { shortenResult } from '../commands/shorten-result.ts'

/**
 * Returns a result in about a number of bytes of JSON. The results are left out if they take more
 * than half of it, and stdout and stderr keep their beginnings.
 */
export function shortenCodeResult(result: CodeResult, maxBytes: number): CodeResult {
  const fits = Buffer.byteLength(JSON.stringify(result.results)) <= maxBytes / 2
  if (fits) return shortenResult(result, maxBytes)
  return shortenResult({ ...result, results: [], truncated: { ...result.truncated, results: true } }, maxBytes)
}
