import type { Inside } from '../../inside/inside.ts'
import type { PeerVerbs } from '../peers/peer-verbs.ts'
import type { Errands } from './errands.ts'
import { recordKeyVerbs } from './record-key-verbs.ts'
import { sealedVerbs } from './sealed-verbs.ts'
import { secretVerbs } from './secret-verbs.ts'

/** Returns the verbs by which a host with keys serves workers. A worker has no such verb. */
export function trustVerbs(service: Inside, errands: Errands): PeerVerbs {
  const { masterKeys } = service
  if (masterKeys === null) return {}
  return {
    ...sealedVerbs({ ...service, masterKeys, errands }),
    ...secretVerbs(service),
    ...recordKeyVerbs(service, errands),
  }
}
