import type { Host, HostPool } from '@holt/sdk'
import { Answer } from '../parts/answer.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useNow } from '../parts/spans.ts'
import { useHosts } from './use-host.ts'

/** The page of pools: the runtimes of each template that wait for a create. */
export function PoolsPage() {
  const hosts = useHosts()
  return (
    <>
      <h1>Pools</h1>
      <p>
        A pool keeps runtimes ready, so that a create takes one at once. Demand decides their number, between two
        settings of the service.
      </p>
      <Answer query={hosts} what="the pools">
        {(shown) => shown.map((host) => <PoolsOf key={host.host_id} host={host} />)}
      </Answer>
    </>
  )
}

function PoolsOf({ host: { pools, pool_min, pool_max } }: { readonly host: Host }) {
  const now = useNow()
  if (pool_max === 0)
    return (
      <EmptyState title="Pools are off">
        <p>
          Every create makes its runtime itself. To turn pools on, start the service without this setting, or with a
          larger number:
        </p>
        <pre>HOLT_POOL_MAX=64</pre>
      </EmptyState>
    )
  return (
    <>
      <p className="muted">
        <code>HOLT_POOL_MIN={pool_min}</code>: runtimes of the default template that always wait.{' '}
        <code>HOLT_POOL_MAX={pool_max}</code>: the most in all pools. A change needs a restart of the service.
      </p>
      {pools.length === 0 ? (
        <EmptyState title="No pools yet">
          <p>A template gets a pool with the first create of it. The default template has one from the start.</p>
          <pre>holt create --template base-small</pre>
        </EmptyState>
      ) : (
        <PlainTable
          label="Pools"
          rows={pools}
          idOf={({ template, isolation }) => `${template.template_id} ${isolation}`}
          columns={[
            { title: 'Template', cell: ({ template }) => template.name },
            { title: 'Class', cell: ({ isolation }) => isolation },
            { title: 'Ready', cell: ({ ready }) => ready },
            { title: 'Being made', cell: ({ making }) => making },
            { title: 'Wanted', cell: ({ wanted }) => wanted },
            { title: 'Creates served', cell: servedOf },
            {
              title: 'Oldest',
              cell: ({ oldest_at: at }) => (at === null ? '' : <Moment at={at} now={now} />),
            },
          ]}
        />
      )}
    </>
  )
}

function servedOf({ hits, misses }: HostPool): string {
  const creates = hits + misses
  return creates === 0 ? 'none asked' : `${hits} of ${creates} (${Math.round((hits / creates) * 100)} %)`
}
