import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { addNotice, type Failure, type NoticeAction, replaceNotice } from '../parts/notices.ts'
import { useSession } from '../session/session-context.ts'
import { type JobResult, runMany } from './run-many.ts'
import type { Changed, RuntimeChange } from './runtime-changes.ts'
import { labelOf } from './runtime-row.ts'
import { rereadRows, showState } from './runtimes-query.ts'

/** The end of the notice of a change, after the numbers. */
interface Ending {
  /** The gain or the cost of the change: `This cannot be undone.` */
  readonly more?: string
  readonly failures?: readonly Failure[]
  readonly actions?: readonly NoticeAction[]
}

/** Changes runtimes, with a notice of the progress and of the result. */
export type ChangeRuntimes = <Result>(
  change: RuntimeChange<Result>,
  items: readonly Changed[],
  end: (result: JobResult<Changed, Result>) => Ending,
) => void

/** Returns the function that changes runtimes. A change goes on when the page is left. */
export function useChanges(): ChangeRuntimes {
  const { holt, session } = useSession()
  const queries = useQueryClient()
  const keyId = session.key_id
  return useMemo(() => {
    const reread = (ids: readonly string[]) =>
      // The list of every minute shows what this could not read.
      rereadRows({ holt, queries, keyId, signal: new AbortController().signal }, ids).catch(() => undefined)
    return (change, items, end) => {
      const ended = new AbortController()
      const text = `${change.doing} ${countText(items)}…`
      const stop = { title: 'Stop', run: () => ended.abort() }
      const progress = (done: number) => ({ text, progress: { done, of: items.length }, actions: [stop] })
      const id = addNotice(progress(0))
      const ids = items.map((item) => item.id)
      if (change.shows !== null) showState(queries, keyId, ids, change.shows)
      void runMany({
        items,
        labelOf,
        run: (item) => change.run(holt, item.id),
        signal: ended.signal,
        onProgress: (done) => replaceNotice(id, progress(done)),
      }).then((result) => {
        const { more = '', failures = [], actions = [] } = end(result)
        const all = [...result.failures, ...failures]
        replaceNotice(id, { text: `${resultText(change, result)} ${more}`.trim(), failures: all, actions })
        void reread(ids)
      })
    }
  }, [holt, queries, keyId])
}

/** Returns the name of one runtime, or the number of several. */
export function countText(items: readonly Changed[]): string {
  const [only] = items
  return items.length === 1 && only !== undefined ? labelOf(only) : `${items.length} runtimes`
}

function resultText<Result>({ done }: RuntimeChange<Result>, result: JobResult<Changed, Result>): string {
  const parts = [
    result.done.length === 0 ? '' : `${done} ${countText(result.done.map(({ item }) => item))}.`,
    result.failures.length === 0 ? '' : `${result.failures.length} failed.`,
    result.left.length === 0 ? '' : `${result.left.length} left as they were.`,
  ]
  return parts.filter(Boolean).join(' ')
}
