import type { TemplateData } from '@holt/sdk'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { Input, SearchField } from 'react-aria-components'
import { labelOf } from '../builds/build-text.ts'
import { bytesText } from '../parts/amount-text.ts'
import { Answer } from '../parts/answer.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { spanText, useNow } from '../parts/spans.ts'
import { usersText, useUsers } from '../runtimes/use-users.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import '../styles/builds.css'
import { useTemplates } from './use-templates.ts'

const route = getRouteApi('/templates')

const kinds = { all: 'All kinds', custom: 'Of this project', agent: 'Of agents', system: 'Of Holt' } as const

/** The page of templates: those of the project, and those of Holt. */
export function TemplatesPage() {
  const { session } = useSession()
  const { find = '', kind = 'all' } = route.useSearch()
  const navigate = route.useNavigate()
  const templates = useTemplates()
  const mayBuild = mayUse(session, 'template:write')
  const show = (search: { readonly find?: string; readonly kind?: string }) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...search }), replace: true })
  return (
    <>
      <div className="title">
        <h1>Templates</h1>
        {mayBuild ? (
          <Link className="button primary" to="/templates/build">
            Build a template
          </Link>
        ) : null}
      </div>
      <div className="toolbar">
        <SearchField aria-label="Find a template" value={find} onChange={(text) => show({ find: text })}>
          <Input placeholder="Name or tag" />
        </SearchField>
        <label>
          <span className="hidden">Kind</span>
          <select value={kind} onChange={({ target }) => show({ kind: target.value })}>
            {Object.entries(kinds).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Answer query={templates} what="the templates">
        {(all) => <Found all={all} find={find} kind={kind} mayBuild={mayBuild} />}
      </Answer>
    </>
  )
}

interface FoundProps {
  readonly all: readonly TemplateData[]
  readonly find: string
  readonly kind: string
  readonly mayBuild: boolean
}

function Found({ all, find, kind, mayBuild }: FoundProps) {
  const sought = find.trim().toLowerCase()
  const rows = useMemo(
    () =>
      all.filter((template) => {
        if (kind !== 'all' && template.kind !== kind) return false
        return `${template.name}:${template.tag}`.toLowerCase().includes(sought)
      }),
    [all, kind, sought],
  )
  const hasOwn = all.some((template) => template.kind === 'custom')
  return (
    <>
      {rows.length > 0 ? (
        <TemplateTable rows={rows} />
      ) : hasOwn || kind !== 'custom' || sought !== '' ? (
        <EmptyState title="No template matches">
          <p>
            <Link to="/templates">Show all</Link>
          </p>
        </EmptyState>
      ) : null}
      {hasOwn || sought !== '' ? null : (
        <EmptyState title="No templates of your own yet">
          <p>
            A template is a filesystem with a size, and perhaps a running application. Runtimes begin as copies of it.
            Holt has some; make your own for your packages and programs.
          </p>
          {mayBuild ? (
            <p>
              <Link to="/templates/build">Build one from a Dockerfile here</Link>, or in a shell:
            </p>
          ) : (
            <p>Build one in a shell:</p>
          )}
          <pre>holt template build -t web .</pre>
        </EmptyState>
      )}
    </>
  )
}

function TemplateTable({ rows }: { readonly rows: readonly TemplateData[] }) {
  const now = useNow()
  const columns = useMemo(() => columnsOf(now), [now])
  return (
    <DataTable
      label="Templates"
      rows={rows}
      columns={columns}
      idOf={({ template_id }) => template_id}
      nameOf={labelOf}
    />
  )
}

function columnsOf(now: number): readonly Column<TemplateData>[] {
  return [
    {
      title: 'Template',
      cell: (template) => (
        <Link to="/templates/$template" params={{ template: template.template_id }}>
          {labelOf(template)}
        </Link>
      ),
    },
    { title: 'State', width: 120, cell: ({ state }) => <span className={`state ${state}`}>{state}</span> },
    { title: 'Kind', width: 100, cell: ({ kind }) => kind },
    { title: 'Size', width: 110, cell: ({ size_bytes }) => (size_bytes === null ? '' : bytesText(size_bytes)) },
    { title: 'Changed', width: 110, cell: ({ updated_at }) => `${spanText(now - Date.parse(updated_at))} ago` },
    { title: 'Used by', width: 150, cell: ({ template_id }) => <UsedBy templateId={template_id} /> },
  ]
}

/** The number of runtimes of a template. Only rows in sight read it. */
function UsedBy({ templateId }: { readonly templateId: string }) {
  const { data } = useUsers({ template: templateId })
  return data === undefined ? null : usersText(data)
}

function withoutEmpty(search: Readonly<Record<string, string | undefined>>) {
  return Object.fromEntries(Object.entries(search).filter(([, text]) => text !== '' && text !== 'all'))
}
