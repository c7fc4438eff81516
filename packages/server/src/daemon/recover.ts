import type { Api } from '../api/api.ts'
import { dropCheckpoints } from '../builds/drop-checkpoints.ts'
import { failInterrupted } from '../builds/recover-builds.ts'
import { finishRotation } from '../foundation/sealing/rotate-master-key.ts'
import { markMissing } from '../runtimes/reconcile/mark-missing.ts'
import { failUnwritten } from '../runtimes/snapshots/recover-snapshots.ts'

/**
 * Corrects the rows that an earlier process left. The service is usable without each correction, so
 * a failure is only logged, and the next start tries again.
 */
export async function recover(service: Api): Promise<void> {
  const { config, masterKeys } = service
  // Both keys stay if this fails. Sealed values still open.
  if (config.fleet === null && masterKeys !== null)
    await tryTo(
      service,
      () => finishRotation({ ...service, masterKeys }),
      'a rotation of the master key could not be finished',
    )
  // The builds keep their state if this fails.
  await tryTo(service, () => failInterrupted(service), 'the builds that an earlier process left could not be ended')
  // The snapshots are shown as being written if this fails, and can be deleted.
  await tryTo(service, () => failUnwritten(service), 'the snapshots that an earlier process left could not be ended')
  // The rows keep their state if this fails. A client that uses a missing thing gets an error.
  await tryTo(service, () => markMissing(service), 'what is missing in the state directory could not be looked for')
  // Runtimes are restored from the checkpoints if this fails.
  await tryTo(service, () => dropCheckpoints(service), 'checkpoints without an application could not be removed')
}

async function tryTo({ log }: Api, correct: () => Promise<unknown>, failure: string): Promise<void> {
  await correct().catch((err: unknown) => log.error({ err }, failure))
}
