import type { StartHost } from '@holt/builder'
import type { PolicyBody } from '@holt/protocol'
import type { TemplateRow } from '../foundation/store/tables.ts'
import { BuildNetwork } from './build-network.ts'
import { noteCheckpoint, noteRuntime, releaseResource } from './build-resources.ts'
import type { Builds } from './builds.ts'

/** A checkpoint that is taken again. */
interface RetakeParts {
  /** The id under which its resources are noted. The next start removes those of a killed one. */
  readonly holder: string
  readonly row: TemplateRow
  readonly policy: PolicyBody | null
  readonly signal: AbortSignal
}

/**
 * Returns the parts of the service with which the checkpoint of a template is taken again. The
 * output of its commands and its denied connections are not logged: they are the tenant's.
 */
export async function openRetakeHost(
  service: Builds,
  { holder, row, policy, signal }: RetakeParts,
): Promise<StartHost & AsyncDisposable> {
  const network = new BuildNetwork(service, { policy, reporter: { logOfStep: () => {} } })
  const newRuntime: StartHost['newRuntime'] = async () => {
    const id = await noteRuntime(service, {
      projectId: null,
      buildId: holder,
      cpu: row.cpu,
      memoryMiB: row.memory_mib,
      diskMiB: row.disk_mib,
      signal,
      onWait: (what) => service.log.info({ template_id: row.template_id }, `a checkpoint waits until ${what}`),
    })
    return {
      id,
      openNetwork: (bounded) => network.open(id, bounded),
      [Symbol.asyncDispose]: async () => {
        await network.close(id)
        await releaseResource(service, id, 'runtime')
      },
    }
  }
  return {
    engine: service.engine,
    isolation: 'gvisor',
    newRuntime,
    newCheckpointId: () => noteCheckpoint(service, holder),
    report: { status: () => {}, steps: () => {}, ignored: () => {}, log: () => {} },
    [Symbol.asyncDispose]: () => network.closeAll(),
  }
}
