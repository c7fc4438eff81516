import type { Host } from '@holt/sdk'
import { Answer } from '../parts/answer.tsx'
import { Facts } from '../parts/facts.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useNow } from '../parts/spans.ts'
import { HostCapacityBars } from './host-capacity.tsx'
import { HostChecks } from './host-checks.tsx'
import { useHosts } from './use-host.ts'

/** The page of the host: capacity, versions, isolation classes, and the checks of the doctor. */
export function HostPage() {
  const hosts = useHosts()
  return (
    <>
      <h1>Host</h1>
      <Answer query={hosts} what="the host">
        {(shown) => shown.map((host) => <OneHost key={host.host_id} host={host} />)}
      </Answer>
    </>
  )
}

function OneHost({ host }: { readonly host: Host }) {
  const { name, status, reasons, capacity, isolation } = host
  return (
    <section className="section" aria-label={`Host ${name}`}>
      <div className="title">
        <h2>{name}</h2>
        <span className={`state ${status === 'ready' ? 'ready' : 'failed'}`}>
          {status === 'ready' ? 'ready' : 'not ready'}
        </span>
      </div>
      {reasons.map((reason) => (
        <p key={reason} className="notice error">
          {reason}
        </p>
      ))}
      <HostFacts host={host} />
      {capacity === null ? null : <HostCapacityBars capacity={capacity} />}
      <section className="section" aria-label="Isolation classes">
        <h2>Isolation classes</h2>
        <PlainTable
          label="Isolation classes"
          rows={Object.entries(isolation).map(([of, facts]) => ({ of, ...facts }))}
          idOf={({ of }) => of}
          columns={[
            { title: 'Class', cell: ({ of }) => of },
            { title: 'Available', cell: ({ available, reason }) => (available ? 'yes' : `no: ${reason}`) },
            { title: 'Runner', cell: ({ runner }) => runner ?? '' },
            { title: 'Keeps memory', cell: ({ can_checkpoint }) => (can_checkpoint ? 'yes' : 'no') },
            { title: 'Repair', cell: ({ fix }) => (fix === null ? '' : <code>{fix}</code>) },
          ]}
        />
      </section>
      <HostChecks host={host} />
    </section>
  )
}

function HostFacts({ host }: { readonly host: Host }) {
  const now = useNow()
  const { host_id, version, engine, node, kernel, arch, started_at } = host
  return (
    <Facts
      entries={[
        ['Id', <code key="id">{host_id}</code>],
        ['Holt', version],
        ['Engine', engine ?? 'does not answer'],
        ['Node.js', node],
        ['Kernel', kernel],
        ['Architecture', arch],
        ['Service started', <Moment key="at" at={started_at} now={now} />],
      ]}
    />
  )
}
