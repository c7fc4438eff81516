import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Field } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { Tick } from '../parts/tick.tsx'
import { ForkPlan } from './fork-plan.tsx'
import { deletedText, deleteText, forkInto, remove } from './runtime-changes.ts'
import type { RuntimeRow } from './runtime-row.ts'
import { countText, useChanges } from './use-changes.ts'

const countPattern = /^(?:[1-9]\d?|100)$/

interface ForkProps {
  readonly rows: readonly RuntimeRow[]
  readonly onOpenChange: (isOpen: boolean) => void
}

/** Asks how many forks to make of each runtime, and makes them. */
export function ForkDialog({ rows, onOpenChange }: ForkProps) {
  const navigate = useNavigate()
  const change = useChanges()
  const [count, setCount] = useState('1')
  const [records, setRecords] = useState(false)
  const submit = () => {
    onOpenChange(false)
    const body = { count: Number(count), ...(records ? { record_files: true } : {}) }
    change(forkInto(body), rows, ({ done }) => {
      const forks = done.flatMap(({ result }) => result.forks)
      const failures = done.flatMap(({ item, result }) =>
        result.errors.map((error) => ({ label: `a fork of ${countText([item])}`, error })),
      )
      if (forks.length === 0) return { failures }
      const show = { title: 'Show the tree', run: () => void navigate({ to: '/runtimes', search: { view: 'tree' } }) }
      const undo = {
        title: `Delete ${forks.length === 1 ? 'the fork' : `the ${forks.length} forks`}`,
        question: deleteText,
        run: () => change(remove, forks, () => ({ more: deletedText })),
      }
      return {
        more: `Made ${forks.length === 1 ? 'a fork' : `${forks.length} forks`}.`,
        failures,
        actions: [show, undo],
      }
    })
  }
  return (
    <FormDialog
      isOpen
      onOpenChange={onOpenChange}
      title={`Fork ${countText(rows)}`}
      action="Fork"
      isPending={false}
      error={null}
      onSubmit={submit}
    >
      <p>A fork begins with the processes, memory and files of its source, which continues.</p>
      <Field
        label="Forks of each"
        value={count}
        set={setCount}
        hint="1 to 100"
        pattern={countPattern.source}
        isRequired
      />
      <Tick
        label="Keep a record of the files, so that a diff compares with this fork"
        isTicked={records}
        set={setRecords}
      />
      {rows.length === 1 && rows[0] !== undefined ? (
        <ForkPlan runtimeId={rows[0].id} count={countPattern.test(count) ? Number(count) : null} />
      ) : null}
    </FormDialog>
  )
}
