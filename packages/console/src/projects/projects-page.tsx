import type { Project } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Answer } from '../parts/answer.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'
import { ProjectDialog } from './project-dialog.tsx'
import { QuotaBars } from './quota-bars.tsx'

/** The page of projects with their quotas: all of them for an operator, else that of the key. */
export function ProjectsPage() {
  const { session } = useSession()
  return mayUse(session, 'operator') ? <AllProjects /> : <OwnProject />
}

function OwnProject() {
  const identity = useHoltQuery({ key: ['whoami'], read: (holt, signal) => holt.whoami({ signal }) })
  return (
    <>
      <h1>Project</h1>
      <p>A key with the scope operator sees all projects, and changes their quotas.</p>
      <Answer query={identity} what="the project">
        {({ project, quotas, use }) => (
          <section className="section card padded" aria-label={`Project ${project.name}`}>
            <h2>{project.name}</h2>
            <QuotaBars quotas={quotas} use={use} />
          </section>
        )}
      </Answer>
    </>
  )
}

/** The open dialog of the page. */
type Act = { readonly type: 'create' } | { readonly type: 'change' | 'delete'; readonly project: Project }

function AllProjects() {
  const [act, setAct] = useState<Act | null>(null)
  const projects = useHoltList({ key: ['projects'], list: (holt, options) => holt.projects.list(options) })
  const close = () => setAct(null)
  return (
    <>
      <ListPage
        title="Projects"
        what="projects"
        query={projects}
        action={
          <Button className="button primary" onPress={() => setAct({ type: 'create' })}>
            Create a project
          </Button>
        }
        textsOf={({ name, project_id }) => [name, project_id]}
        empty={null}
      >
        {(rows) => rows.map((project) => <ProjectCard key={project.project_id} project={project} choose={setAct} />)}
      </ListPage>
      <p className="muted">
        In a shell: <code>holt project create team --quota runtimes=20 memory_mib=64GiB</code>
      </p>
      {act?.type === 'create' ? <ProjectDialog project={null} onClose={close} /> : null}
      {act?.type === 'change' ? <ProjectDialog project={act.project} onClose={close} /> : null}
      {act?.type === 'delete' ? <DeleteProject project={act.project} onClose={close} /> : null}
    </>
  )
}

interface CardProps {
  readonly project: Project
  readonly choose: (act: Act) => void
}

function ProjectCard({ project, choose }: CardProps) {
  const { project_id, name, quotas, use } = project
  return (
    <section className="section card padded" aria-label={`Project ${name}`}>
      <div className="title">
        <h2>
          {name} <code className="muted">{project_id}</code>
        </h2>
        <div className="actions">
          <Button className="button" aria-label={`Change ${name}`} onPress={() => choose({ type: 'change', project })}>
            Change…
          </Button>
          <Button
            className="button danger"
            aria-label={`Delete ${name}`}
            onPress={() => choose({ type: 'delete', project })}
          >
            Delete…
          </Button>
        </div>
      </div>
      <QuotaBars quotas={quotas} use={use} />
    </section>
  )
}

interface DeleteProps {
  readonly project: Project
  readonly onClose: () => void
}

function DeleteProject({ project: { project_id, name }, onClose }: DeleteProps) {
  const deleting = useHoltMutation({
    run: (holt) => holt.projects.delete(project_id),
    changes: [['projects']],
    onSuccess: onClose,
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={`Delete the project ${name}?`}
      action="Delete"
      isPending={deleting.isPending}
      onConfirm={() => deleting.mutate()}
    >
      <p>
        Its keys and its build cache are deleted with it. The service refuses it while the project has runtimes or
        anything else. This cannot be undone.
      </p>
      {deleting.error === null ? null : <ErrorNotice error={deleting.error} />}
    </ConfirmDialog>
  )
}
