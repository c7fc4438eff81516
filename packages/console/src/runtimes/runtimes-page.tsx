import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { Button, Input, SearchField, type Selection } from 'react-aria-components'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { CreateDialog } from './create-dialog.tsx'
import { RuntimeActions } from './runtime-actions.tsx'
import { findRows, viewOf, views } from './runtime-row.ts'
import { RuntimeTable } from './runtime-table.tsx'
import { useRuntimes } from './use-runtimes.ts'

const route = getRouteApi('/runtimes')
const nothing: Selection = new Set()

/** The page of runtimes: a table that follows their changes, and what can be done with them. */
export function RuntimesPage() {
  const { session } = useSession()
  const { find = '', state, template } = route.useSearch()
  const navigate = route.useNavigate()
  const runtimes = useRuntimes()
  const [selected, setSelected] = useState(nothing)
  const [isCreating, setCreating] = useState(template !== undefined)
  const view = viewOf(state)
  const rows = useMemo(() => findRows(runtimes.data ?? [], view, find), [runtimes.data, view, find])
  const ids = rows.map(({ id }) => id).filter((id) => selected === 'all' || selected.has(id))
  const setOpen = (isOpen: boolean) => {
    setCreating(isOpen)
    if (!isOpen) void navigate({ search: ({ template: _, ...before }) => before, replace: true })
  }
  const show = (search: { readonly find?: string; readonly state?: string }) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...search }), replace: true })
  const mayWrite = mayUse(session, 'runtime:write')
  return (
    <>
      <div className="title">
        <h1>Runtimes</h1>
        {mayWrite ? (
          <Button className="button primary" onPress={() => setCreating(true)}>
            Create a runtime
          </Button>
        ) : null}
      </div>
      <div className="toolbar">
        <SearchField aria-label="Find a runtime" value={find} onChange={(text) => show({ find: text })}>
          <Input placeholder="Name, id or template" />
        </SearchField>
        <label>
          <span className="hidden">State</span>
          <select value={view} onChange={({ target }) => show({ state: target.value })}>
            {Object.entries(views).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <RuntimeActions ids={ids} onDone={() => setSelected(nothing)} />
      </div>
      {runtimes.isError ? <ErrorNotice error={runtimes.error} /> : null}
      {rows.length > 0 ? (
        <RuntimeTable rows={rows} selected={selected} onSelect={setSelected} />
      ) : runtimes.isPending ? (
        <p role="status">Loading the runtimes…</p>
      ) : runtimes.data?.length === 0 ? (
        <EmptyState title="No runtimes yet">
          <p>A runtime is a machine of its own for code that you do not trust. It starts within a second.</p>
          {mayWrite ? <p>Create one here, or in a shell:</p> : <p>Create one in a shell:</p>}
          <pre>holt create -n mine</pre>
        </EmptyState>
      ) : runtimes.data === undefined ? null : (
        <EmptyState title="No runtime matches">
          <p>
            <Button className="button" onPress={() => show({ find: '', state: '' })}>
              Show all
            </Button>
          </p>
        </EmptyState>
      )}
      <CreateDialog isOpen={isCreating} onOpenChange={setOpen} template={template} />
    </>
  )
}

function withoutEmpty(search: Readonly<Record<string, string | undefined>>) {
  return Object.fromEntries(Object.entries(search).filter(([, text]) => text !== '' && text !== 'live'))
}
