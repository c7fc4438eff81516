import type { Isolation } from '@holt/engine'
import { attempt } from '../../foundation/errors/refuse.ts'
import { type ChosenNetwork, chooseNetwork } from '../../resources/network/decide-network.ts'
import type { FormerNetwork } from '../../resources/network/former-network.ts'
import { requirePossibleDisk } from '../admission/admit.ts'
import { decideSize, type SizeOr } from '../admission/decide-size.ts'
import type { HostFacts } from '../admission/require-room.ts'
import type { Runtimes } from '../runtimes.ts'
import { hasCheckpoints } from '../state/can-pause.ts'
import { type DeadlineColumns, decideDeadline } from '../state/deadline.ts'
import { findSource, type SourceSearch } from './find-source.ts'
import type { RowCreation } from './new-runtime-row.ts'
import { broughtBackMiB } from './restores-under-way.ts'
import type { RuntimeSource } from './runtime-source.ts'

/**
 * The properties of a runtime that are decided before anything is created. After a refusal, a part
 * may be missing.
 */
export interface RuntimePlan<Refused extends null = never> {
  readonly source: RuntimeSource | Refused
  readonly isolation: Isolation | Refused
  readonly size: SizeOr<Refused>
  readonly network: ChosenNetwork
  /** The network that continuing programs know. Null if no program continues. */
  readonly former: FormerNetwork | null
  readonly deadline: DeadlineColumns | Refused
  readonly host: HostFacts
}

/** The parts that a pause at the deadline keeps. Files alone can be kept in every class. */
type PauseWish = Pick<RowCreation, 'pauseKind'>

/** Plans a runtime and creates nothing. `requireRoom` checks later that there is room. */
export async function planRuntime<Refused extends null>(
  service: Runtimes,
  projectId: string,
  { request, imageOf, refuse, pauseKind = 'memory' }: Omit<SourceSearch<Refused>, 'facts'> & PauseWish,
): Promise<RuntimePlan<Refused>> {
  const facts = await service.engine.describe()
  const found = await findSource(service, projectId, { request, facts, imageOf, refuse })
  const { source, isolation, former } = found
  const size = decideSize<Refused>(request, source, refuse)
  requirePossibleDisk(request.disk, { hostDiskMiB: facts.diskMiB, reserve: service.config.reserve }, refuse)
  const { network_policy = source === null ? undefined : found.defaultPolicy } = request
  const network = await chooseNetwork(service, projectId, { ...request, network_policy }, refuse)
  const freeMemoryMiB = await service.freeMemoryMiB()
  const secretsInside = network.secrets.some(({ inside }) => inside === 1)
  const deadline =
    isolation === null
      ? isolation
      : await attempt(refuse, () =>
          decideDeadline(request, {
            canPause: pauseKind === 'filesystem' || (hasCheckpoints(facts, isolation) && !secretsInside),
          }),
        )
  const broughtBack = broughtBackMiB(source?.checkpointBytes ?? null, size.memoryMiB ?? 0)
  const host = { facts, freeMemoryMiB, broughtBackMiB: broughtBack }
  return { source, isolation, size, network, former, deadline, host }
}
