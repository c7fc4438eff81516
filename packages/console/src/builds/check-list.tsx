import { type CheckedLine, type DockerfileCheck, writtenOut } from '@holt/sdk'
import { Button } from 'react-aria-components'
import type { Column } from '../parts/data-table.tsx'
import { PlainTable } from '../parts/plain-table.tsx'

interface CheckListProps {
  readonly check: DockerfileCheck
  /** Shows a line of the Dockerfile in the editor. */
  readonly goTo: (line: number) => void
}

/** Shows the effect of each line of a Dockerfile on a build. Readers of screens hear the counts. */
export function CheckList({ check: { ok, lines, warnings, images, templates }, goTo }: CheckListProps) {
  const count = (verdict: CheckedLine['verdict']) => lines.filter((line) => line.verdict === verdict).length
  const notable = lines.filter(({ verdict }) => verdict !== 'supported')
  const from = [...images, ...templates]
  return (
    <section aria-label="Check of the Dockerfile">
      <p role="status">
        {count('supported')} supported, {count('ignored')} ignored, {count('refused')} refused
        {ok ? '.' : ': it cannot be built yet.'}
      </p>
      {from.length === 0 ? null : (
        <p className="muted">
          Made from <span className="wrapped">{from.map((each) => writtenOut(each)).join(', ')}</span>
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning} className="notice warning">
          Warning: {writtenOut(warning)}
        </p>
      ))}
      {notable.length === 0 ? null : <Lines label="Lines to look at" lines={notable} goTo={goTo} />}
      {lines.length === 0 ? null : (
        <details>
          <summary>All lines</summary>
          <Lines label="All lines of the Dockerfile" lines={lines} goTo={goTo} />
        </details>
      )}
    </section>
  )
}

interface LinesProps extends Pick<CheckListProps, 'goTo'> {
  readonly label: string
  readonly lines: readonly CheckedLine[]
}

function Lines({ label, lines, goTo }: LinesProps) {
  const columns: readonly Column<CheckedLine>[] = [
    {
      title: 'Line',
      cell: ({ line, end_line }) => (
        <Button className="button quiet" onPress={() => goTo(line)} aria-label={`Show line ${line}`}>
          {line === end_line ? line : `${line}-${end_line}`}
        </Button>
      ),
    },
    { title: 'Verdict', cell: ({ verdict }) => <span className={`state ${verdict}`}>{verdict}</span> },
    { title: 'Instruction', cell: ({ text }) => <code className="wrapped">{writtenOut(text)}</code> },
    {
      title: 'Why',
      cell: ({ reason, fix }) => writtenOut([reason, fix].filter((part) => part !== null).join(' ')),
    },
  ]
  return (
    <PlainTable
      label={label}
      rows={lines}
      columns={columns}
      idOf={({ line, instruction }) => `${line} ${instruction}`}
    />
  )
}
