import { useState } from 'react'
import { Choice, Field } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import type { RuntimeDialogProps } from './runtime-dialog-props.ts'
import { changeOf, emptySettings, type SettingsFields } from './settings-form.ts'

/** The form of the deadline of a runtime, and of its pause without use. */
export function SettingsDialog({ runtime: { runtime_id: id, state }, isOpen, onOpenChange }: RuntimeDialogProps) {
  const [fields, setFields] = useState(emptySettings)
  const changing = useHoltMutation({
    run: async (holt) => (await holt.runtimes.get(id)).update(changeOf(fields)),
    changes: [['runtime', id], ['runtimes']],
    onSuccess: () => {
      setFields(emptySettings)
      onOpenChange(false)
    },
  })
  const bound = (name: keyof SettingsFields) => ({
    value: fields[name],
    set: (value: string) => setFields({ ...fields, [name]: value }),
  })
  return (
    <FormDialog
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      title="Change the deadline"
      action="Change"
      isPending={changing.isPending}
      error={changing.error}
      onSubmit={() => changing.mutate()}
    >
      <p>An empty field stays as it is.</p>
      <Field
        label={state === 'paused' ? 'Runs after its resume for (minutes)' : 'Runs from now for (minutes)'}
        {...bound('timeout')}
        hint="60, or none"
        pattern="\d+|none"
      />
      <Choice label="Then" {...bound('on_timeout')}>
        <option value="">no change</option>
        <option value="pause">pause: memory and files are kept</option>
        <option value="terminate">terminate: memory and files are gone</option>
      </Choice>
      <Field
        label="Pauses without use after (minutes)"
        {...bound('idle_timeout')}
        hint="10, or none"
        pattern="\d+|none"
      />
      <Choice label="A use resumes it" {...bound('auto_resume')}>
        <option value="">no change</option>
        <option value="yes">yes</option>
        <option value="no">no</option>
      </Choice>
    </FormDialog>
  )
}
