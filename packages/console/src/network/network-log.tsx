import type { NetworkLogItem } from '@holt/sdk'
import { useMemo, useState } from 'react'
import { Button, Input, SearchField } from 'react-aria-components'
import { bytesText } from '../parts/amount-text.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { shownText } from '../parts/shown-text.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useLiveItems } from '../session/use-live-items.ts'
import type { Wanted } from './allow-dialog.tsx'
import type { Decision } from './allow-rules.ts'
import { decisions, destinationOf, findLines, ruleOf } from './log-filter.ts'

/** The maximum number of lines that the page keeps. The service has the same limit. */
const mostLines = 10_000

interface LogProps {
  readonly runtimeId: string
  /** Opens the dialog that allows a denied line, or all of them. */
  readonly want: (wanted: Wanted) => void
}

/** The network log, live. Code inside chooses the texts of its lines. */
export function NetworkLog({ runtimeId: id, want }: LogProps) {
  const { session } = useSession()
  const [decided, decide] = useState('all')
  const [find, setFind] = useState('')
  const { items, error } = useLiveItems<NetworkLogItem>({
    key: `network ${id}`,
    most: mostLines,
    open: async function* (holt, { cursor, signal }) {
      yield* (await holt.runtimes.get(id, { signal })).network.log({ cursor, signal, follow: true })
    },
  })
  const lines = useMemo(() => items.filter((item): item is Decision => 'allowed' in item), [items])
  const found = useMemo(() => findLines(lines, decided, find), [lines, decided, find])
  const mayAllow = mayUse(session, 'runtime:write') || mayUse(session, 'policy:write')
  const columns = useMemo(() => columnsOf(mayAllow ? want : null), [mayAllow, want])
  const dropped = items.reduce((sum, item) => sum + (item.type === 'dropped' ? item.dropped_items : 0), 0)
  const denied = lines.some(({ allowed }) => !allowed)
  return (
    <section className="section" aria-label="Network log">
      <h2>Network log</h2>
      <div className="toolbar">
        <SearchField aria-label="Find a line" value={find} onChange={setFind}>
          <Input placeholder="Host, rule, path or program" />
        </SearchField>
        <DecisionChoice decided={decided} decide={decide} />
        {mayAllow && denied ? (
          <Button className="button" onPress={() => want('everything')}>
            Suggest rules for all denied…
          </Button>
        ) : null}
        <p className="muted" role="status">
          {found.length} of {lines.length} lines{dropped === 0 ? '' : `; ${dropped} earlier ones are no longer kept`}
        </p>
      </div>
      {error === null ? null : <ErrorNotice error={error} />}
      {found.length > 0 ? (
        <DataTable
          label="Network log"
          rows={found}
          columns={columns}
          idOf={({ cursor }) => String(cursor)}
          nameOf={destinationOf}
        />
      ) : error === null ? (
        <EmptyState title={lines.length === 0 ? 'It has tried to reach nothing' : 'No line matches'}>
          <p>Each name that it looks up, each connection and each request appears here, with the decision.</p>
          <pre className="wrapped">holt net log {id} --follow</pre>
        </EmptyState>
      ) : null}
    </section>
  )
}

interface DecisionProps {
  readonly decided: string
  readonly decide: (decided: string) => void
}

/** The choice of the lines by their decision. */
function DecisionChoice({ decided, decide }: DecisionProps) {
  return (
    <label>
      <span className="hidden">Decision</span>
      <select value={decided} onChange={({ target }) => decide(target.value)}>
        {Object.entries(decisions).map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  )
}

function columnsOf(want: LogProps['want'] | null): readonly Column<Decision>[] {
  return [
    {
      title: 'Destination',
      cell: (line) => {
        const text = shownText(destinationOf(line))
        return <span title={text}>{text}</span>
      },
    },
    ...(want === null
      ? []
      : [
          {
            title: 'Change',
            width: 130,
            cell: (line: Decision) =>
              line.allowed ? null : (
                <Button className="button quiet" onPress={() => want(line)}>
                  Allow this…
                </Button>
              ),
          },
        ]),
    {
      title: 'Decision',
      width: 90,
      cell: ({ allowed }) => (allowed ? 'allowed' : <strong className="denied">denied</strong>),
    },
    { title: 'Time', width: 110, cell: ({ at }) => <time dateTime={at}>{new Date(at).toLocaleTimeString()}</time> },
    { title: 'Kind', width: 90, cell: ({ type }) => type },
    { title: 'Rule or reason', width: 200, cell: (line) => shownText(ruleOf(line)) },
    { title: 'Request', width: 220, cell: ({ method, path }) => shownText([method, path].filter(Boolean).join(' ')) },
    { title: 'Bytes out, in', width: 150, cell: bytesOf },
    {
      title: 'Program',
      width: 140,
      cell: ({ process }) => (process === null ? '' : shownText(`${process.name} ${process.pid}`)),
    },
    { title: 'Secret', width: 110, cell: ({ secret }) => secret ?? '' },
  ]
}

function bytesOf({ bytes_sent, bytes_received }: Decision): string {
  return bytes_sent === null ? '' : `${bytesText(bytes_sent)}, ${bytesText(bytes_received ?? 0)}`
}
