import { LongText } from '../parts/long-text.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { shownText } from '../parts/shown-text.ts'

/** The characters of a value that a row shows at first. */
const valueLength = 500

interface PairsProps {
  readonly label: string
  readonly pairs: Readonly<Record<string, string>>
  /** The title of the first column. */
  readonly name: string
  /** The sentence in place of an empty table. */
  readonly none: string
}

/** A table of texts by name, such as labels or variables. Both may be hostile. */
export function PairsTable({ label, pairs, name, none }: PairsProps) {
  const rows = Object.entries(pairs).toSorted(([one], [other]) => (one < other ? -1 : 1))
  if (rows.length === 0) return <p className="muted">{none}</p>
  return (
    <PlainTable
      label={label}
      rows={rows}
      idOf={([key]) => key}
      columns={[
        { title: name, cell: ([key]) => <code className="wrapped">{shownText(key)}</code> },
        { title: 'Value', cell: ([, value]) => <LongText text={shownText(value)} most={valueLength} /> },
      ]}
    />
  )
}
