import { reportError } from '../errors/report-error.ts'
import { printJson, say } from '../output/print.ts'
import { printable } from '../output/visible.ts'

/** The result for one operand: the text for people, and the API's own object for `--json`. */
interface Done {
  readonly told: string
  readonly object?: unknown
}

/**
 * Acts on each operand, also after a failure. With several operands it prints the failed ones at
 * the end. Returns the exit code.
 */
export async function doToEach(
  texts: readonly string[],
  { json = false }: { readonly json?: boolean },
  act: (text: string) => Promise<Done>,
): Promise<number> {
  const objects: unknown[] = []
  const failed: string[] = []
  for (const text of texts) {
    try {
      const { told, object } = await act(text)
      if (!json) say(told)
      else if (object !== undefined) objects.push(object)
    } catch (error) {
      // The other operands are still processed. The exit code reports the failure.
      failed.push(text)
      reportError(error)
    }
  }
  if (json) printJson({ data: objects, next_cursor: null })
  if (failed.length > 0 && texts.length > 1) say(`failed: ${failed.map(printable).join(', ')}`)
  return failed.length === 0 ? 0 : 1
}
