import { type FormEvent, useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { CheckedField } from '../parts/checked-field.tsx'
import { Choice } from '../parts/fields.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { type AuditSearch, auditKindTitles } from './audit-search.ts'

interface FiltersProps {
  readonly search: AuditSearch
  readonly onShow: (search: AuditSearch) => void
}

/** The filters of the audit log. */
export function AuditFilters({ search, onShow }: FiltersProps) {
  const { session } = useSession()
  const [fields, setFields] = useState(search)
  const keys = useHoltList({ key: ['keys', session.project_id], list: (holt, options) => holt.keys.list(options) })
  const bound = (name: keyof AuditSearch) => ({
    value: fields[name] ?? '',
    set: (text: string) => setFields({ ...fields, [name]: text }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onShow(fields)
  }
  return (
    <Form className="rule" aria-label="Filters" onSubmit={submit}>
      <Choice label="Kind" {...bound('kind')}>
        <option value="">Everything</option>
        {Object.entries(auditKindTitles).map(([kind, title]) => (
          <option key={kind} value={kind}>
            {title}
          </option>
        ))}
      </Choice>
      <CheckedField label="Route" {...bound('route')} placeholder="createRuntime" />
      <CheckedField label="Subject" {...bound('subject')} placeholder="Id or name" />
      <Choice label="Key" {...bound('key')}>
        <option value="">Every key</option>
        {(keys.data ?? []).map(({ key_id, name }) => (
          <option key={key_id} value={key_id}>
            <Foreign>{name}</Foreign>
          </option>
        ))}
      </Choice>
      <Choice label="Time" {...bound('hours')}>
        <option value="">All that is kept</option>
        <option value="1">the last hour</option>
        <option value="24">the last day</option>
        <option value="168">the last week</option>
      </Choice>
      {mayUse(session, 'operator') ? <ProjectFilter {...bound('project')} /> : null}
      <div className="actions end">
        <Button className="button primary" type="submit">
          Show
        </Button>
        <Button className="button" onPress={() => onShow({})}>
          Reset
        </Button>
      </div>
    </Form>
  )
}

interface ProjectFilterProps {
  readonly value: string
  readonly set: (project: string) => void
}

/** The choice of the project whose entries are shown. Only an operator has several. */
function ProjectFilter({ value, set }: ProjectFilterProps) {
  const { session } = useSession()
  const projects = useHoltList({ key: ['projects'], list: (holt, options) => holt.projects.list(options) })
  const others = (projects.data ?? []).filter(({ project_id }) => project_id !== session.project_id)
  return (
    <Choice label="Project" value={value} set={set}>
      <option value="">{session.project_name}</option>
      <option value="all">every project</option>
      {others.map(({ project_id, name }) => (
        <option key={project_id} value={project_id}>
          {name}
        </option>
      ))}
    </Choice>
  )
}
