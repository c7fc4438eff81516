import type { HostCapacity } from '@holt/sdk'
import { mibText } from '../parts/amount-text.ts'
import { Facts } from '../parts/facts.tsx'
import { UseBar } from '../parts/use-bar.tsx'

/** Shows the resources of a host: what is taken, promised and left. */
export function HostCapacityBars({ capacity }: { readonly capacity: HostCapacity }) {
  const { cpus, memory_mib, memory_available_mib: availableMib, memory_overcommit: overcommit, runtimes } = capacity
  const promisable = Math.floor((memory_mib - capacity.memory_reserved_mib) * overcommit)
  const counts = Object.entries(runtimes).map(([state, count]) => `${count} ${state}`)
  return (
    <section className="section" aria-label="Capacity">
      <h2>Capacity</h2>
      <div className="bars">
        <UseBar
          label="Memory in use"
          used={availableMib === null ? capacity.memory_used_mib : memory_mib - availableMib}
          most={memory_mib}
          text={mibText}
        />
        <UseBar label="Memory of runtimes" used={capacity.memory_used_mib} most={memory_mib} text={mibText} />
        <UseBar label="Memory promised" used={capacity.memory_promised_mib} most={promisable} text={mibText} />
        <UseBar
          label="Disk in use"
          used={capacity.disk_mib - capacity.disk_free_mib}
          most={capacity.disk_mib}
          text={mibText}
        />
      </div>
      <Facts
        entries={[
          ['Processors', cpus],
          ['Memory kept for the system', mibText(capacity.memory_reserved_mib)],
          ['Disk kept for running work', mibText(capacity.disk_reserved_mib)],
          ['Overcommit of memory', overcommit],
          ['Runtimes', counts.length === 0 ? 'none' : counts.join(', ')],
        ]}
      />
    </section>
  )
}
