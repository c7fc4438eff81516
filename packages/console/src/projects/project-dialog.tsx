import type { Project } from '@holt/sdk'
import { useState } from 'react'
import { CheckedField } from '../parts/checked-field.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { changedQuotas, quotaFields, quotaOrder, textsOfQuotas } from './quota-fields.ts'

interface ProjectDialogProps {
  /** The project that is changed. Null: a new project. */
  readonly project: Project | null
  readonly onClose: () => void
}

/** The form of a project: its name and its quotas. */
export function ProjectDialog({ project, onClose }: ProjectDialogProps) {
  const [before] = useState(() => textsOfQuotas(project?.quotas ?? null))
  const [name, setName] = useState(project?.name ?? '')
  const [texts, setTexts] = useState(before)
  const storing = useHoltMutation({
    run: (holt) => {
      const quotas = changedQuotas(before, texts)
      if (project === null) return holt.projects.create({ name: name.trim(), quotas })
      const renamed = name.trim() === project.name ? {} : { name: name.trim() }
      return holt.projects.update(project.project_id, { ...renamed, quotas })
    },
    changes: [['projects'], ['whoami']],
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={project === null ? 'Create a project' : `Change ${project.name}`}
      action={project === null ? 'Create' : 'Save'}
      isWide
      isPending={storing.isPending}
      error={storing.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => storing.mutate()}
    >
      <CheckedField label="Name" value={name} set={setName} isRequired error={storing.error} pointer="/name" />
      <p className="muted">
        An empty field means no limit, and <code>default</code> the setting of the service. A smaller quota removes
        nothing: it bounds later additions.
      </p>
      <div className="bars">
        {quotaOrder.map((quota) => {
          const { title, unit } = quotaFields[quota]
          return (
            <CheckedField
              key={quota}
              label={unit === undefined ? title : `${title} (${unit})`}
              value={texts[quota]}
              set={(text) => setTexts({ ...texts, [quota]: text })}
              placeholder="no limit"
              error={storing.error}
              pointer={`/quotas/${quota}`}
            />
          )
        })}
      </div>
    </FormDialog>
  )
}
