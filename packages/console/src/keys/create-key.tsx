import type { CreateKeyInput, NewKey, Scope } from '@holt/sdk'
import { useState } from 'react'
import { CheckedField } from '../parts/checked-field.tsx'
import { issueAt } from '../parts/field-issues.ts'
import { Choice } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { Tick } from '../parts/tick.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { keyScopes, usualScopes } from './key-scopes.ts'

interface CreateProps {
  /** The project of the new key, by id. */
  readonly projectId: string
  readonly onMade: (key: NewKey) => void
  readonly onClose: () => void
}

const dayMs = 86_400_000

/** The lives of new keys, in days. */
const lives: Readonly<Record<string, string>> = {
  '': 'never',
  '1': 'in a day',
  '7': 'in a week',
  '30': 'in 30 days',
  '90': 'in 90 days',
  '365': 'in a year',
}

/** The form of a new key. A key can grant only scopes that the key of the session has. */
export function CreateKey({ projectId, onMade, onClose }: CreateProps) {
  const { session } = useSession()
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(usualScopes.filter((scope) => mayUse(session, scope)))
  const [days, setDays] = useState('')
  const [format, setFormat] = useState('holt')
  const [project, setProject] = useState(projectId)
  const creating = useHoltMutation({
    run: (holt) =>
      holt.keys.create({
        name,
        scopes: [...scopes],
        expires_at: days === '' ? null : new Date(Date.now() + Number(days) * dayMs).toISOString(),
        format: format as NonNullable<CreateKeyInput['format']>,
        ...(project === session.project_id ? {} : { project }),
      }),
    changes: [['keys']],
    onSuccess: onMade,
    isSecret: true,
  })
  return (
    <FormDialog
      title="Create a key"
      action="Create"
      isPending={creating.isPending}
      error={creating.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => creating.mutate()}
    >
      <CheckedField
        label="Name"
        value={name}
        set={setName}
        isRequired
        about="What the key is for."
        error={creating.error}
        pointer="/name"
      />
      {mayUse(session, 'operator') ? <ProjectChoice project={project} set={setProject} /> : null}
      <ScopeChoice scopes={scopes} set={setScopes} error={creating.error} />
      <Choice label="Expires" value={days} set={setDays}>
        {Object.entries(lives).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </Choice>
      <Choice label="Form" value={format} set={setFormat}>
        <option value="holt">holt_… for every client of Holt</option>
        <option value="e2b">e2b_… for clients of E2B</option>
      </Choice>
    </FormDialog>
  )
}

interface ScopesProps {
  readonly scopes: readonly Scope[]
  readonly set: (scopes: readonly Scope[]) => void
  /** The error of the last request. */
  readonly error: unknown
}

/** The scopes of a new key: those that the key of the session has. */
function ScopeChoice({ scopes, set, error }: ScopesProps) {
  const { session } = useSession()
  const grantable = (Object.keys(keyScopes) as Scope[]).filter((scope) => mayUse(session, scope))
  const issue = issueAt(error, '/scopes')
  return (
    <fieldset>
      <legend>Scopes</legend>
      {grantable.map((scope) => (
        <Tick
          key={scope}
          label={`${scope}: ${keyScopes[scope]}`}
          isTicked={scopes.includes(scope)}
          set={(isTicked) => set(isTicked ? [...scopes, scope] : scopes.filter((each) => each !== scope))}
        />
      ))}
      {issue === undefined ? null : <p className="issue">{issue}</p>}
    </fieldset>
  )
}

interface ProjectProps {
  readonly project: string
  readonly set: (project: string) => void
}

/** The choice of a project, by id. Only an operator has several. */
export function ProjectChoice({ project, set }: ProjectProps) {
  const { session } = useSession()
  const projects = useHoltList({
    key: ['projects'],
    list: (holt, options) => holt.projects.list(options),
    enabled: mayUse(session, 'operator'),
  })
  const known = projects.data ?? [{ project_id: session.project_id, name: session.project_name }]
  return (
    <Choice label="Project" value={project} set={set}>
      {known.map(({ project_id, name }) => (
        <option key={project_id} value={project_id}>
          {name}
        </option>
      ))}
    </Choice>
  )
}
