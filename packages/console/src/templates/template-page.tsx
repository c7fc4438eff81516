import { type TemplateData, writtenOut } from '@holt/sdk'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { BuildTable } from '../builds/build-table.tsx'
import { labelOf } from '../builds/build-text.ts'
import { useBuilds } from '../builds/use-builds.ts'
import { bytesText } from '../parts/amount-text.ts'
import { Answer } from '../parts/answer.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { ClientLines } from '../parts/client-lines.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Facts } from '../parts/facts.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { plainLine } from '../parts/shown-text.ts'
import { useNow } from '../parts/spans.ts'
import { createLines } from '../runtimes/create-lines.ts'
import { usersText, useUsers } from '../runtimes/use-users.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import '../styles/builds.css'
import { DeleteTemplate } from './delete-template.tsx'
import { TemplateLayers } from './template-layers.tsx'
import { TemplateSettings } from './template-settings.tsx'
import { useTemplate, useTemplates } from './use-templates.ts'

const route = getRouteApi('/templates/$template')

/** The page of one template: its facts, settings, layers and history, and the lines that use it. */
export function TemplatePage() {
  const { template: reference } = route.useParams()
  const template = useTemplate(reference)
  return (
    <Answer query={template} what="the template">
      {(data) => <ShownTemplate key={data.template_id} template={data} />}
    </Answer>
  )
}

function ShownTemplate({ template }: { readonly template: TemplateData }) {
  const { state, state_reason, progress, template_id, build_id } = template
  const builds = useBuilds(template_id)
  return (
    <>
      <div className="title">
        <h1>{labelOf(template)}</h1>
        <span className={`state ${state}`}>{state}</span>
        <TemplateActions template={template} />
      </div>
      {state_reason === null ? null : (
        <div className="notice error">
          <p>{plainLine(state_reason.message)}</p>
        </div>
      )}
      {progress === null ? null : (
        <p role="status">
          It is made: {plainLine(progress.phase)}, {Math.round((100 * progress.done) / Math.max(1, progress.total))} %.
        </p>
      )}
      <Tags template={template} />
      <TemplateFacts template={template} />
      <TemplateSettings template={template} />
      <TemplateLayers template={template} />
      <Section title="History">
        <Answer query={builds} what="its builds">
          {(list) =>
            list.length > 0 ? (
              <BuildTable label="Builds of the template" builds={list} />
            ) : (
              <p className="muted">
                {build_id === null ? 'Holt makes it at its start, without a build.' : 'Its builds are no longer kept.'}
              </p>
            )
          }
        </Answer>
      </Section>
      <UseIt template={template} />
    </>
  )
}

function TemplateActions({ template }: { readonly template: TemplateData }) {
  const { session } = useSession()
  const navigate = useNavigate()
  const { kind, state, name, tag, build_id } = template
  const pulling = useHoltMutation({
    run: (holt) => holt.builds.pull(labelOf(template)),
    changes: [['builds'], ['templates']],
    onSuccess: (build) => void navigate({ to: '/builds/$buildId', params: { buildId: build.build_id } }),
  })
  const mayBuild = mayUse(session, 'template:write')
  return (
    <div className="actions">
      {mayUse(session, 'runtime:write') ? (
        <Link className="button primary" to="/runtimes" search={{ template: labelOf(template) }}>
          Start a runtime
        </Link>
      ) : null}
      {mayBuild && kind === 'custom' ? (
        <Link className="button" to="/templates/build" search={build_id === null ? { name, tag } : { from: build_id }}>
          Edit and build again
        </Link>
      ) : null}
      {mayBuild && kind === 'agent' && state !== 'building' ? (
        <BusyButton className="button" isBusy={pulling.isPending} onPress={() => pulling.mutate()}>
          Build it now
        </BusyButton>
      ) : null}
      <DeleteTemplate template={template} />
      {pulling.isError ? <ErrorNotice error={pulling.error} /> : null}
    </div>
  )
}

/** The other tags of the same name, as links. */
function Tags({ template: { name, template_id } }: { readonly template: TemplateData }) {
  const templates = useTemplates()
  const others = (templates.data ?? []).filter((one) => one.name === name && one.template_id !== template_id)
  if (others.length === 0) return null
  return (
    <p>
      Other tags:{' '}
      {others.map((other) => (
        <span key={other.template_id}>
          <Link to="/templates/$template" params={{ template: other.template_id }}>
            {other.tag}
          </Link>{' '}
        </span>
      ))}
    </p>
  )
}

const visibility = {
  custom: 'this project only',
  agent: 'every project of the service',
  system: 'every project of the service',
} as const

function TemplateFacts({ template }: { readonly template: TemplateData }) {
  const now = useNow()
  const users = useUsers({ template: template.template_id })
  const { template_id, kind, source, size_bytes, image_digest, created_at, updated_at, has_checkpoint } = template
  return (
    <Facts
      entries={[
        ['Id', <code key="id">{template_id}</code>],
        ['Kind', kind],
        ['Public', visibility[kind]],
        ['Made from', writtenOut(source)],
        ['Size', size_bytes === null ? 'not built yet' : bytesText(size_bytes)],
        ['Runtimes begin', has_checkpoint ? 'restored from a checkpoint' : 'by a boot'],
        ['Used by', users.data === undefined ? null : usersText(users.data)],
        ['Created', <Moment key="at" at={created_at} now={now} />],
        ['Changed', <Moment key="at" at={updated_at} now={now} />],
        ['Image', image_digest === null ? null : <code key="digest">{image_digest}</code>],
      ]}
    />
  )
}

/** Shows the lines by which each client starts a runtime of the template. */
function UseIt({ template }: { readonly template: TemplateData }) {
  return (
    <Section title="Use it">
      <div className="lines">
        <div>
          <h3>holt, for one command</h3>
          <pre className="wrapped">holt run -t {labelOf(template)} -- COMMAND</pre>
        </div>
        <ClientLines lines={createLines({ template: labelOf(template) }, location.origin)} />
      </div>
    </Section>
  )
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
