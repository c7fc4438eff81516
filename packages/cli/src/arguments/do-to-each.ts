import { printJson, say } from '../output/print.ts'
import { reportError } from '../output/report-error.ts'
import { printable } from '../output/visible.ts'

/** The result for one operand: the text for people, and the API's own object for `--json`. */
interface Done {
  readonly told: string
  readonly object?: unknown
}

/**
 * Does something to each of those that were named, also after one that failed; of several, names in
 * the end those that did. Answers the exit code.
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
      // The others are done all the same; the exit code says that one was not.
      failed.push(text)
      reportError(error)
    }
  }
  if (json) printJson({ data: objects, next_cursor: null })
  if (failed.length > 0 && texts.length > 1) say(`failed: ${failed.map(printable).join(', ')}`)
  return failed.length === 0 ? 0 : 1
}
