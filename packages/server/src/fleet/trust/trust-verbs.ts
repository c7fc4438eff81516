import type { Inside } from '../../inside/inside.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import { recordKeyVerbs } from './record-key-verbs.ts'
import { type RelayParts, relayVerb } from './relay-verbs.ts'
import { sealedVerbs } from './sealed-verbs.ts'
import { secretVerbs } from './secret-verbs.ts'
import { tokenVerbs } from './token-verbs.ts'
import type { WorkerErrands } from './worker-errands.ts'
import type { WorkerGrants } from './worker-grants.ts'

/** The things that fronts let workers do, and the way to other hosts. */
interface Permits extends Pick<RelayParts, 'ask'> {
  readonly errands: WorkerErrands
  readonly grants: WorkerGrants
}

/** Returns the verbs by which a host with keys serves workers. A worker has no such verb. */
export function trustVerbs(service: Inside, permits: Permits): PeerVerbs {
  const { masterKeys } = service
  if (masterKeys === null) return {}
  return {
    ...sealedVerbs({ ...service, masterKeys, ...permits }),
    ...secretVerbs(service),
    ...tokenVerbs(service),
    ...recordKeyVerbs(service, permits.errands),
    ...relayVerb({ ...service, ...permits }),
  }
}
