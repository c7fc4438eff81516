import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { Button, Dialog, Form, Heading, Modal } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ClientLines } from '../parts/client-lines.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { addNotice } from '../parts/notices.ts'
import { useSession } from '../session/session-context.ts'
import { CreateCheck } from './create-check.tsx'
import { draftOf, keepDraft } from './create-draft.ts'
import { CreateFieldset } from './create-fieldset.tsx'
import { bodyOf, type CreateFields } from './create-form.ts'
import { createLines } from './create-lines.ts'
import { deletedText, deleteText, remove } from './runtime-changes.ts'
import { labelOf } from './runtime-row.ts'
import { runtimesKey } from './runtimes-query.ts'
import { useChanges } from './use-changes.ts'

interface CreateProps {
  /** The template that the form begins with; empty for none. */
  readonly template: string
  readonly onClose: () => void
}

/** The form of a create, beside the lines that do the same with each client. */
export function CreateDialog({ template, onClose }: CreateProps) {
  const { holt, session } = useSession()
  const queries = useQueryClient()
  const noteCreated = useCreatedNotice()
  const [fields, setFields] = useState<CreateFields>(() => {
    const draft = draftOf(session.key_id)
    return template === '' ? draft : { ...draft, template, snapshot: '' }
  })
  const change = (name: keyof CreateFields, value: string) => {
    const next = { ...fields, [name]: value }
    setFields(next)
    keepDraft(session.key_id, next)
  }
  const body = bodyOf(fields)
  const creating = useMutation({
    mutationFn: () => holt.runtimes.create(body),
    onSuccess: ({ runtime_id, name }) => {
      keepDraft(session.key_id, null)
      onClose()
      noteCreated({ id: runtime_id, name })
      void queries.invalidateQueries({ queryKey: runtimesKey(session.key_id) })
    },
  })
  const checking = useMutation({ mutationFn: () => holt.runtimes.dryRun(body) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!creating.isPending) creating.mutate()
  }
  return (
    <Modal className="modal wide" isOpen onOpenChange={onClose} isDismissable>
      <Dialog className="dialog">
        <Heading slot="title">Create a runtime</Heading>
        <div className="columns">
          <Form className="form" onSubmit={submit}>
            <CreateFieldset fields={fields} change={change} />
            {checking.isError ? <ErrorNotice error={checking.error} /> : null}
            {checking.data === undefined ? null : <CreateCheck answer={checking.data} />}
            {creating.isError ? <ErrorNotice error={creating.error} /> : null}
            <div className="actions end">
              <Button className="button" onPress={onClose}>
                Cancel
              </Button>
              <BusyButton className="button" isBusy={checking.isPending} onPress={() => checking.mutate()}>
                Check
              </BusyButton>
              <BusyButton className="button primary" type="submit" isBusy={creating.isPending}>
                Create
              </BusyButton>
            </div>
          </Form>
          <section className="lines" aria-label="The same with a client">
            <ClientLines lines={createLines(body, location.origin)} />
          </section>
        </div>
      </Dialog>
    </Modal>
  )
}

/** Returns the function that tells of a created runtime, and offers to open or to delete it. */
function useCreatedNotice() {
  const navigate = useNavigate()
  const change = useChanges()
  return (created: { readonly id: string; readonly name: string | null }) => {
    const open = () => void navigate({ to: '/runtimes/$runtimeId', params: { runtimeId: created.id } })
    const undo = () => change(remove, [created], () => ({ more: deletedText }))
    addNotice({
      text: `Created ${labelOf(created)}.`,
      actions: [
        { title: 'Open', run: open },
        { title: `Delete ${labelOf(created)}`, question: deleteText, run: undo },
      ],
    })
  }
}
