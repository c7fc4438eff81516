import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { changedLabels } from './changed-labels.ts'
import type { RuntimeDialogProps } from './runtime-dialog-props.ts'

interface Pair {
  /** The number of the row, for React. */
  readonly row: number
  readonly key: string
  readonly value: string
}

/** The form of the labels of a runtime. It changes only those that a person has changed. */
export function MetadataDialog({ runtime, isOpen, onOpenChange }: RuntimeDialogProps) {
  const { runtime_id: id, metadata } = runtime
  const [pairs, setPairs] = useState<readonly Pair[]>([])
  const [before, setBefore] = useState(metadata)
  useEffect(() => {
    if (!isOpen) return
    setBefore(metadata)
    setPairs(Object.entries(metadata).map(([key, value], row) => ({ row, key, value })))
    // The form keeps its rows while another client changes the labels.
  }, [isOpen])
  const changing = useHoltMutation({
    run: async (holt) =>
      (await holt.runtimes.get(id)).update({
        metadata_patch: changedLabels(
          before,
          pairs.filter(({ key }) => key !== '').map(({ key, value }) => [key, value]),
        ),
      }),
    changes: [['runtime', id], ['runtimes']],
    onSuccess: () => onOpenChange(false),
  })
  const set = (row: number, change: Partial<Pair>) =>
    setPairs(pairs.map((pair) => (pair.row === row ? { ...pair, ...change } : pair)))
  return (
    <FormDialog
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      title="Change the metadata"
      action="Change"
      isPending={changing.isPending}
      error={changing.error}
      onSubmit={() => changing.mutate()}
      isWide
    >
      <p>
        Labels of your own, such as team=search. The list of runtimes can filter by them. Those that you leave alone
        stay as they are.
      </p>
      {pairs.map((pair) => (
        <PairFields
          key={pair.row}
          pair={pair}
          set={(change) => set(pair.row, change)}
          remove={() => setPairs(pairs.filter(({ row }) => row !== pair.row))}
        />
      ))}
      <div className="actions">
        <Button
          className="button"
          onPress={() => setPairs([...pairs, { row: (pairs.at(-1)?.row ?? -1) + 1, key: '', value: '' }])}
        >
          Add a label
        </Button>
      </div>
    </FormDialog>
  )
}

interface PairFieldsProps {
  readonly pair: Pair
  readonly set: (change: Partial<Pair>) => void
  readonly remove: () => void
}

/** The fields of one label. */
function PairFields({ pair: { row, key, value }, set, remove }: PairFieldsProps) {
  return (
    <div className="pair">
      <input
        aria-label={`Key ${row + 1}`}
        placeholder="key"
        value={key}
        autoComplete="off"
        onChange={({ target }) => set({ key: target.value })}
      />
      <textarea
        aria-label={`Value ${row + 1}`}
        rows={1}
        value={value}
        onChange={({ target }) => set({ value: target.value })}
      />
      <Button className="button" aria-label={`Remove ${key === '' ? `label ${row + 1}` : key}`} onPress={remove}>
        Remove
      </Button>
    </div>
  )
}
