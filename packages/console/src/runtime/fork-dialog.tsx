import type { ForkResult, Runtime } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Field } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'

/** What each dialog of one runtime takes. */
export interface RuntimeDialogProps {
  readonly runtime: Runtime
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

/** The form of a fork: says how many children fit now, and afterwards shows each of them. */
export function ForkDialog({ runtime: { runtime_id: id }, isOpen, onOpenChange }: RuntimeDialogProps) {
  const [text, setText] = useState('1')
  const [recordsFiles, setRecordsFiles] = useState(false)
  const count = /^[1-9]\d{0,2}$/.test(text.trim()) ? Number(text) : null
  const planned = useHoltQuery({
    key: ['runtime', id, 'fork', count],
    read: async (holt, signal) =>
      (await holt.runtimes.get(id, { signal })).dryRunFork({ count: count ?? 1 }, { signal }),
    enabled: isOpen && count !== null,
  })
  const forking = useHoltMutation<{ readonly count: number; readonly record_files: boolean }, readonly ForkResult[]>({
    run: async (holt, body) => (await (await holt.runtimes.get(id)).fork(body)).results,
    changes: [['runtime', id], ['runtimes']],
  })
  const close = (open: boolean) => {
    if (!open) forking.reset()
    onOpenChange(open)
  }
  return (
    <FormDialog
      isOpen={isOpen}
      onOpenChange={close}
      title="Fork the runtime"
      action={forking.isSuccess ? null : 'Fork'}
      isPending={forking.isPending}
      error={forking.error}
      onSubmit={() => (count === null ? undefined : forking.mutate({ count, record_files: recordsFiles }))}
    >
      {forking.isSuccess ? (
        <ForkResults results={forking.data} />
      ) : (
        <>
          <p>
            Each child begins with the processes, memory and files of this moment, and with an identity of its own. This
            runtime continues. A fork takes resources of its own until it is deleted.
          </p>
          <Field label="Children (1 to 100)" value={text} set={setText} hint="1" pattern="[1-9][0-9]{0,2}" />
          <label className="check">
            <input type="checkbox" checked={recordsFiles} onChange={({ target }) => setRecordsFiles(target.checked)} />
            Record the files, so that a diff of a child compares with this moment
          </label>
          <p role="status">
            {planned.data === undefined
              ? ''
              : `${planned.data.children} of ${planned.data.count} would be created now.`}{' '}
            {planned.data?.problems.map(({ message, hint }) => `${message} ${hint}`).join(' ')}
          </p>
          {planned.isError ? <ErrorNotice error={planned.error} /> : null}
        </>
      )}
    </FormDialog>
  )
}

function ForkResults({ results }: { readonly results: readonly ForkResult[] }) {
  const made = results.flatMap(({ runtime }) => runtime ?? [])
  const [failed] = results.flatMap(({ error }) => error ?? [])
  return (
    <>
      <p role="status">
        {made.length} of {results.length} were created.
      </p>
      {made.length === 0 ? null : (
        <ul className="entries" aria-label="Children">
          {made.map(({ runtime_id }) => (
            <li key={runtime_id}>
              <Link to="/runtimes/$runtimeId" params={{ runtimeId: runtime_id }}>
                {runtime_id}
              </Link>
            </li>
          ))}
        </ul>
      )}
      {failed === undefined ? null : <ErrorNotice error={failed} />}
    </>
  )
}
