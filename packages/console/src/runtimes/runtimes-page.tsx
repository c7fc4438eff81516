import { getRouteApi } from '@tanstack/react-router'
import {
  lazy,
  type RefObject,
  Suspense,
  useCallback,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { Button } from 'react-aria-components'
import { useCommands } from '../parts/commands.ts'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { loadPart } from '../service/load-part.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { orderText } from './row-order.ts'
import { noSelection } from './row-selection.ts'
import { RuntimeActions } from './runtime-actions.tsx'
import { RuntimeFilter } from './runtime-filter.tsx'
import { RuntimeTable } from './runtime-table.tsx'
import { type RuntimesSearch, shortSearch } from './runtimes-search.ts'
import { UsageContext } from './usage-cell.tsx'
import { UsageStore } from './usage-store.ts'
import { useFindText } from './use-find-text.ts'
import { useRuntimes } from './use-runtimes.ts'
import { useShownRows } from './use-shown-rows.ts'

const route = getRouteApi('/runtimes')
const CreateDialog = lazy(loadPart(async () => ({ default: (await import('./create-dialog.tsx')).CreateDialog })))

/** The page of runtimes: a table that follows their changes, and what can be done with them. */
export function RuntimesPage() {
  const { session, holt } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const runtimes = useRuntimes()
  const [selection, setSelection] = useState(noSelection)
  const usage = useMemo(() => new UsageStore(holt, () => document.hidden), [holt])
  useEffect(() => usage.start(), [usage])
  const show = useCallback(
    (change: RuntimesSearch) =>
      void navigate({ search: (before) => shortSearch({ ...before, ...change }), replace: true }),
    [navigate],
  )
  const [find, setFind] = useFindText(search.find, show)
  const { rows, order, isTree, expand } = useShownRows(runtimes.data, search, useDeferredValue(find))
  const selected = useMemo(
    () => rows.flatMap(({ row }) => (selection.ids.has(row.id) ? row : [])),
    [rows, selection.ids],
  )
  const finder = useRef<HTMLInputElement>(null)
  const mayWrite = mayUse(session, 'runtime:write')
  useRuntimesCommands({ mayWrite, isTree, show, finder })
  return (
    <UsageContext value={usage}>
      <div className="title">
        <h1>Runtimes</h1>
        {mayWrite ? (
          <Button className="button primary" onPress={() => show({ template: '' })}>
            Create a runtime
          </Button>
        ) : null}
      </div>
      <div className="toolbar">
        <RuntimeFilter {...{ search, show, find, setFind, finder }} />
        <RuntimeActions rows={selected} />
      </div>
      {runtimes.isError ? <ErrorNotice error={runtimes.error} /> : null}
      {rows.length > 0 ? (
        <RuntimeTable
          {...{ rows, isTree, order, selection }}
          onOrder={(next) => show({ sort: orderText(next) ?? '' })}
          onSelect={setSelection}
          onExpand={expand}
          onOpen={(runtimeId) => void navigate({ to: '/runtimes/$runtimeId', params: { runtimeId } })}
        />
      ) : (
        <NoRows
          isPending={runtimes.isPending}
          count={runtimes.data?.length}
          mayWrite={mayWrite}
          onShowAll={() => {
            setFind('')
            show({ find: '', state: '' })
          }}
        />
      )}
      <Suspense>
        {search.template !== undefined && mayWrite ? (
          <CreateDialog template={search.template} onClose={() => show({ template: undefined })} />
        ) : null}
      </Suspense>
    </UsageContext>
  )
}

interface CommandsOfPage {
  readonly mayWrite: boolean
  readonly isTree: boolean
  readonly show: (change: RuntimesSearch) => void
  readonly finder: RefObject<HTMLInputElement | null>
}

/** Offers the commands of the page in the palette, and by single keys. */
function useRuntimesCommands({ mayWrite, isTree, show, finder }: CommandsOfPage): void {
  useCommands(
    useMemo(
      () => [
        ...(mayWrite
          ? [{ id: 'create', title: 'Create a runtime', shortcut: 'c', run: () => show({ template: '' }) }]
          : []),
        { id: 'find', title: 'Find a runtime', shortcut: '/', run: () => finder.current?.focus() },
        isTree
          ? { id: 'list', title: 'Show the runtimes as a list', run: () => show({ view: '' }) }
          : { id: 'tree', title: 'Show the runtimes as a tree of forks', run: () => show({ view: 'tree' }) },
      ],
      [mayWrite, isTree, show, finder],
    ),
  )
}

interface NoRowsProps {
  readonly isPending: boolean
  /** The number of runtimes that the filter hides; undefined if they could not be read. */
  readonly count: number | undefined
  readonly mayWrite: boolean
  readonly onShowAll: () => void
}

function NoRows({ isPending, count, mayWrite, onShowAll }: NoRowsProps) {
  if (isPending) return <p role="status">Loading the runtimes…</p>
  if (count === undefined) return null
  if (count > 0)
    return (
      <EmptyState title="No runtime matches">
        <p>
          <Button className="button" onPress={onShowAll}>
            Show all
          </Button>
        </p>
      </EmptyState>
    )
  return (
    <EmptyState title="No runtimes yet">
      <p>A runtime is a machine of its own for code that you do not trust. It starts within a second.</p>
      {mayWrite ? <p>Create one here, or in a shell:</p> : <p>Create one in a shell:</p>}
      <pre>holt create -n mine</pre>
    </EmptyState>
  )
}
