import type { CodeContext } from '@holt/sdk'
import { useState } from 'react'
import { Field } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

/** The languages of the template `code-interpreter`. Another one may have more. */
const languages = ['python', 'javascript', 'typescript', 'bash']

interface ContextDialogProps {
  readonly runtimeId: string
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
  readonly onCreated: (contextId: string) => void
}

/** The form of a new code context. */
export function ContextDialog({ runtimeId, isOpen, onOpenChange, onCreated }: ContextDialogProps) {
  const [language, setLanguage] = useState('')
  const [cwd, setCwd] = useState('')
  const creating = useHoltMutation<void, CodeContext>({
    run: async (holt) => {
      const { code } = await holt.runtimes.get(runtimeId)
      return code.contexts.create({
        ...(language.trim() === '' ? {} : { language: language.trim() }),
        ...(cwd.trim() === '' ? {} : { cwd: cwd.trim() }),
      })
    },
    changes: [['runtime', runtimeId, 'inside', 'contexts']],
    onSuccess: ({ context_id }) => {
      onCreated(context_id)
      onOpenChange(false)
    },
  })
  return (
    <FormDialog
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      title="New code context"
      action="Create"
      isPending={creating.isPending}
      error={creating.error}
      onSubmit={() => creating.mutate()}
    >
      <p>A context is a process with variables of its own. It takes memory until it is deleted.</p>
      <Field label="Language" value={language} set={setLanguage} hint="python" options={languages} />
      <Field label="Directory" value={cwd} set={setCwd} hint="as the template" />
    </FormDialog>
  )
}
