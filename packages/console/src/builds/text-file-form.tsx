import { useId, useState } from 'react'
import { Button } from 'react-aria-components'
import { Field } from '../parts/fields.tsx'
import type { TextFile } from './context-file-list.ts'

interface TextFileFormProps extends TextFile {
  readonly onSave: (file: TextFile) => void
  readonly onClose: () => void
}

/** The form in which a person writes a small file of a build context. */
export function TextFileForm({ onSave, onClose, ...file }: TextFileFormProps) {
  const id = useId()
  const [path, setPath] = useState(file.path)
  const [content, setContent] = useState(file.content)
  const wanted = path.trim().replace(/^(?:\.?\/)+/, '')
  return (
    <fieldset className="form" aria-label="A file">
      <Field label="Path of the file" value={path} set={setPath} hint="app.py" />
      <div className="field">
        <label htmlFor={id}>Content of the file</label>
        <textarea
          id={id}
          className="code"
          rows={12}
          spellCheck={false}
          value={content}
          onChange={({ target }) => setContent(target.value)}
        />
      </div>
      <div className="actions end">
        <Button className="button" onPress={onClose}>
          Cancel
        </Button>
        <Button className="button primary" isDisabled={wanted === ''} onPress={() => onSave({ path: wanted, content })}>
          Keep the file
        </Button>
      </div>
    </fieldset>
  )
}
