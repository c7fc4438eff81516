import type { Resources } from '../resources/resources.ts'
import { ArrivalsUnderWay } from './admission/arrivals-under-way.ts'
import { RestoresUnderWay } from './create/restores-under-way.ts'
import { StartsUnderWay } from './create/starts-under-way.ts'
import { ForkCheckpoints } from './forks/fork-checkpoints.ts'
import { ForkHosts } from './forks/fork-hosts.ts'
import { ForkLimiter } from './forks/fork-limiter.ts'
import { Leaving } from './lifecycle/leaving.ts'
import { Transitions } from './lifecycle/transitions.ts'
import { RuntimeLinks } from './links/runtime-links.ts'
import { Pools } from './pools/pools.ts'
import { UsageWatch } from './usage/usage-watch.ts'

/** The handle of runtimes: their starts, changes of state, links, pools and usage. */
export interface Runtimes extends Resources {
  readonly starts: StartsUnderWay
  readonly restores: RestoresUnderWay
  readonly arrivals: ArrivalsUnderWay
  /**
   * The templates of which this host has made runtimes without a checkpoint, because its class has
   * none. Empty on a machine that is in no fleet.
   */
  readonly lackingCheckpoints: Set<string>
  readonly forkCheckpoints: ForkCheckpoints
  readonly forkLimiter: ForkLimiter
  readonly forkHosts: ForkHosts
  readonly pools: Pools
  readonly usage: UsageWatch
  readonly transitions: Transitions
  readonly leaving: Leaving
  readonly links: RuntimeLinks
}

/** Makes the parts of runtimes. */
export function openRuntimes(resources: Resources): Runtimes {
  const runtimes: Runtimes = {
    ...resources,
    starts: new StartsUnderWay(),
    restores: new RestoresUnderWay(),
    arrivals: new ArrivalsUnderWay(),
    lackingCheckpoints: new Set(),
    forkCheckpoints: new ForkCheckpoints(() => runtimes),
    forkLimiter: new ForkLimiter(),
    forkHosts: new ForkHosts(),
    pools: new Pools(() => runtimes, resources.config.pools),
    usage: new UsageWatch(() => runtimes),
    transitions: new Transitions(),
    leaving: new Leaving(),
    links: new RuntimeLinks(() => runtimes),
  }
  return runtimes
}
