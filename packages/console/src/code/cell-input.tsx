import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Field } from '../parts/fields.tsx'
import type { NewCell } from './use-cells.ts'

/** The place for the code of the next cell. Ctrl+Enter runs it; Tab leaves the field. */
export function CellInput({ run }: { readonly run: (cell: Pick<NewCell, 'code' | 'timeoutSecs'>) => void }) {
  const [code, setCode] = useState('')
  const [limit, setLimit] = useState('60')
  const timeoutSecs = /^\d{1,6}$/.test(limit.trim()) ? Number(limit) : null
  const canRun = code.trim() !== '' && timeoutSecs !== null
  const submit = () => {
    if (!canRun || timeoutSecs === null) return
    run({ code, timeoutSecs })
    setCode('')
  }
  return (
    <form
      className="form card cell"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <textarea
        className="code"
        aria-label="Code"
        rows={5}
        value={code}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        onChange={({ target }) => setCode(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          submit()
        }}
      />
      <div className="toolbar">
        <Button className="button primary" type="submit" isDisabled={!canRun}>
          Run
        </Button>
        <span className="muted">
          <kbd>Ctrl</kbd>+<kbd>Enter</kbd>
        </span>
        <Field label="Time limit (seconds, 0: none)" value={limit} set={setLimit} hint="60" pattern="\d{1,6}" />
      </div>
    </form>
  )
}
