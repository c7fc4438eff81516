import type { Host, HostCheck } from '@holt/sdk'
import { useState } from 'react'
import { Moment } from '../parts/moment-text.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useNow } from '../parts/spans.ts'
import { Tick } from '../parts/tick.tsx'

/** The results of checks, the worst first, in the words of people. */
const results = { fix: 'must be fixed', warn: 'warning', ok: 'ok' } as const satisfies Readonly<
  Record<HostCheck['status'], string>
>

const worstFirst = Object.keys(results)

/** Shows the checks of `holt doctor` for a host. */
export function HostChecks({ host: { checks, checked_at: at } }: { readonly host: Host }) {
  const now = useNow()
  const [isAll, setAll] = useState(false)
  const sorted = checks.toSorted((one, other) => worstFirst.indexOf(one.status) - worstFirst.indexOf(other.status))
  const shown = sorted.filter(({ status }) => isAll || status !== 'ok')
  const passed = checks.filter(({ status }) => status === 'ok').length
  return (
    <section className="section" aria-label="Checks">
      <div className="title">
        <h2>Checks</h2>
        <Tick label="Show the passed ones too" isTicked={isAll} set={setAll} />
      </div>
      <p className="muted">
        {at === null ? (
          'The machine could not be checked in time.'
        ) : (
          <>
            {passed} of {checks.length} passed, <Moment at={at} now={now} />. All of them, with a trial start, are made
            by <code>holt doctor</code>.
          </>
        )}
      </p>
      {shown.length === 0 ? null : (
        <PlainTable
          label="Checks"
          rows={shown}
          idOf={({ name, message }) => `${name} ${message}`}
          columns={[
            { title: 'Check', cell: ({ name }) => name },
            {
              title: 'Result',
              cell: ({ status }) => <span className={`state ${status}`}>{results[status]}</span>,
            },
            { title: 'Found', cell: ({ message }) => message },
            { title: 'Repair', cell: ({ fix }) => (fix === null ? '' : <code className="wrapped">{fix}</code>) },
          ]}
        />
      )}
    </section>
  )
}
