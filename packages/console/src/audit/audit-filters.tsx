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
  const isOperator = mayUse(session, 'operator')
  const projects = useHoltList({
    key: ['projects'],
    list: (holt, options) => holt.projects.list(options),
    enabled: isOperator,
  })
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
      {isOperator ? (
        <Choice label="Project" {...bound('project')}>
          <option value="">{session.project_name}</option>
          <option value="all">every project</option>
          {(projects.data ?? [])
            .filter(({ project_id }) => project_id !== session.project_id)
            .map(({ project_id, name }) => (
              <option key={project_id} value={project_id}>
                {name}
              </option>
            ))}
        </Choice>
      ) : null}
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
