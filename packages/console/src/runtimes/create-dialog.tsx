import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button, Dialog, Form, Heading, Modal } from 'react-aria-components'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Choice, Field, Lines } from '../parts/fields.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { bodyOf, type CreateFields, emptyFields } from './create-form.ts'
import { createLines } from './create-lines.ts'
import { runtimesKey } from './use-runtimes.ts'

interface CreateProps {
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  /** The template that is chosen at first. */
  readonly template?: string | undefined
}

/** The form of a create, beside the lines that do the same with each client. */
export function CreateDialog({ isOpen, onOpenChange, template = '' }: CreateProps) {
  const { holt, session } = useSession()
  const queries = useQueryClient()
  const [fields, setFields] = useState({ ...emptyFields, template })
  const templates = useQuery({
    queryKey: [session.key_id, 'templates', 'names'],
    queryFn: async ({ signal }) => (await holt.templates.list({ signal }).all()).map(({ name }) => name),
    enabled: isOpen && mayUse(session, 'template:read'),
  })
  const body = bodyOf(fields)
  const creating = useMutation({
    mutationFn: () => holt.runtimes.create(body),
    onSuccess: () => {
      onOpenChange(false)
      setFields(emptyFields)
      void queries.invalidateQueries({ queryKey: runtimesKey(session.key_id) })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    creating.mutate()
  }
  const bound = (name: keyof CreateFields) => ({
    value: fields[name],
    set: (value: string) => setFields({ ...fields, [name]: value }),
  })
  return (
    <Modal className="modal wide" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Dialog className="dialog">
        <Heading slot="title">Create a runtime</Heading>
        <div className="columns">
          <Form className="form" onSubmit={submit}>
            <Field label="Template" {...bound('template')} hint="base-small" options={templates.data} />
            <Field label="Snapshot, instead" {...bound('snapshot')} hint="none" />
            <Field label="Name" {...bound('name')} hint="none" />
            <Choice label="Isolation" {...bound('isolation')}>
              <option value="">the default of the service</option>
              <option value="gvisor">gvisor</option>
              <option value="container">container</option>
            </Choice>
            <Field label="vCPUs" {...bound('cpu')} hint="as the template" pattern="\d+(\.\d+)?" />
            <Field label="Memory" {...bound('memory')} hint="512MiB, 8GB" />
            <Field label="Disk" {...bound('disk')} hint="20GiB" />
            <Lines label="Environment" {...bound('env')} />
            <Lines label="Metadata" {...bound('metadata')} />
            <Field label="Runs for (minutes)" {...bound('timeout')} hint="60, or none" pattern="\d+|none" />
            <Choice label="Then" {...bound('on_timeout')}>
              <option value="">the default: pause, if it can be paused</option>
              <option value="pause">pause</option>
              <option value="terminate">terminate</option>
            </Choice>
            <Field
              label="Pauses without use after (minutes)"
              {...bound('idle_timeout')}
              hint="none"
              pattern="\d+|none"
            />
            <Choice label="A use resumes it" {...bound('auto_resume')}>
              <option value="">the default: yes</option>
              <option value="yes">yes</option>
              <option value="no">no</option>
            </Choice>
            <Field label="Network policy" {...bound('network_policy')} hint="none: it reaches nothing" />
            <Field label="Secrets" {...bound('secrets')} hint="names" />
            {creating.isError ? <ErrorNotice error={creating.error} /> : null}
            <div className="actions end">
              <Button className="button" onPress={() => onOpenChange(false)}>
                Cancel
              </Button>
              <Button className="button primary" type="submit" isPending={creating.isPending}>
                Create
              </Button>
            </div>
          </Form>
          <section className="lines" aria-label="The same with a client">
            {createLines(body, location.origin).map(({ client, text }) => (
              <div key={client}>
                <h3>{client}</h3>
                <pre className="wrapped">{text}</pre>
              </div>
            ))}
          </section>
        </div>
      </Dialog>
    </Modal>
  )
}
