import { type ContextFile, type CreateBuildInput, readsContext } from '@holt/sdk'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useRef, useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ClientLines } from '../parts/client-lines.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { type BuildFields, type BuildForm, bodyOf } from './build-form.ts'
import { buildLines } from './build-lines.ts'
import { BuildOptions } from './build-options.tsx'
import { CheckList } from './check-list.tsx'
import { sizesText } from './context-file-list.ts'
import { ContextFiles } from './context-files.tsx'
import { DockerfileEditor, type EditorHandle } from './dockerfile-editor.tsx'
import { type BuildExample, examples } from './examples.ts'
import { useCheck } from './use-check.ts'

interface NewBuildProps {
  readonly initial: BuildForm
  /** The build whose request this one begins with; null for a new one. */
  readonly earlier: string | null
}

/** The form of a build: Dockerfile, files and options, beside the lines of each client. */
export function NewBuild({ initial, earlier }: NewBuildProps) {
  const [form, setForm] = useState(initial)
  const [files, setFiles] = useState<readonly ContextFile[]>([])
  const { fields } = form
  const readsFiles = readsContext(fields.dockerfile)
  const hasEarlierFiles = form.more.context_id !== undefined
  const body = bodyOf(form)
  const set = (change: Partial<BuildFields>) => setForm((now) => ({ ...now, fields: { ...now.fields, ...change } }))
  const sent = readsFiles ? files : []
  const building = useStartBuild(body, sent)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!building.isPending) building.mutate()
  }
  const begin = ({ fields: given, files: own }: BuildExample) => {
    set(given)
    setFiles(own)
  }
  return (
    <>
      {earlier === null ? <Examples begin={begin} /> : null}
      <CheckedDockerfile fields={fields} set={set} />
      <div className="columns">
        <div>
          <ContextFiles
            files={files}
            set={setFiles}
            onDockerfile={(dockerfile) => set({ dockerfile })}
            hasEarlier={hasEarlierFiles}
          />
        </div>
        <Form className="form" onSubmit={submit}>
          <BuildOptions
            fields={fields}
            set={set}
            secrets={form.secrets}
            setSecrets={(secrets) => setForm((now) => ({ ...now, secrets }))}
          />
          <Missing fields={fields} lacksFiles={readsFiles && files.length === 0 && !hasEarlierFiles} />
          {building.isError ? <ErrorNotice error={building.error} /> : null}
          <p role="status" className="muted">
            {building.isPending && sent.length > 0 ? `Sending ${sizesText(sent)}…` : ''}
          </p>
          <BuildButton isBusy={building.isPending} fields={fields} />
        </Form>
      </div>
      <section className="lines" aria-label="The same with a client">
        <h2>The same with a client</h2>
        <p className="muted">In a directory with the Dockerfile and its files:</p>
        <ClientLines lines={buildLines({ body, sendsFiles: readsFiles, url: location.origin })} />
      </section>
    </>
  )
}

/** Returns the change that sends the files, starts the build, and opens its page. */
function useStartBuild(body: CreateBuildInput, files: readonly ContextFile[]) {
  const navigate = useNavigate()
  return useHoltMutation({
    run: async (holt) => {
      if (files.length === 0) return holt.builds.create(body)
      const { context_id } = await holt.builds.uploadFiles(files)
      return holt.builds.create({ ...body, context_id })
    },
    changes: [['builds'], ['templates']],
    onSuccess: ({ build_id }) => void navigate({ to: '/builds/$buildId', params: { buildId: build_id } }),
  })
}

interface BuildButtonProps {
  readonly isBusy: boolean
  readonly fields: BuildFields
}

/** The button that sends the form, or the reason why the key cannot. */
function BuildButton({ isBusy, fields }: BuildButtonProps) {
  const { session } = useSession()
  if (!mayUse(session, 'template:write'))
    return <p>The key of this session cannot build: it lacks the scope template:write.</p>
  const isIncomplete = fields.dockerfile.trim() === '' || fields.name.trim() === ''
  return (
    <div className="actions end">
      <BusyButton className="button primary" type="submit" isBusy={isBusy} isDisabled={isIncomplete}>
        Build
      </BusyButton>
    </div>
  )
}

interface FieldsProps {
  readonly fields: BuildFields
  readonly set: (change: Partial<BuildFields>) => void
}

/** The editor of the Dockerfile, and the result of its check. */
function CheckedDockerfile({ fields, set }: FieldsProps) {
  const handle = useRef<EditorHandle>(null)
  const check = useCheck(fields)
  return (
    <section aria-label="Dockerfile">
      <h2>Dockerfile</h2>
      <DockerfileEditor
        value={fields.dockerfile}
        set={(dockerfile) => set({ dockerfile })}
        check={check.data}
        handle={handle}
      />
      {check.isError ? <ErrorNotice error={check.error} /> : null}
      {check.data === undefined || fields.dockerfile.trim() === '' ? null : (
        <CheckList check={check.data.check} goTo={(line) => handle.current?.goTo(line)} />
      )}
    </section>
  )
}

interface MissingProps {
  readonly fields: BuildFields
  /** True if the Dockerfile reads files, and the build has none. */
  readonly lacksFiles: boolean
}

/** Says what a build still needs. */
function Missing({ fields, lacksFiles }: MissingProps) {
  return (
    <>
      {fields.dockerfile.trim() !== '' && fields.name.trim() === '' ? (
        <p className="muted">Give the template a name, to build it.</p>
      ) : null}
      {lacksFiles ? (
        <p className="notice warning">The Dockerfile reads files. Choose or write them under Files.</p>
      ) : null}
    </>
  )
}

function Examples({ begin }: { readonly begin: (example: BuildExample) => void }) {
  return (
    <section className="empty" aria-label="Examples">
      <h2>Write a Dockerfile, or begin with an example</h2>
      <ul>
        {examples.map((example) => (
          <li key={example.title}>
            <Button className="button" onPress={() => begin(example)}>
              {example.title}
            </Button>{' '}
            <span className="muted">{example.about}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
