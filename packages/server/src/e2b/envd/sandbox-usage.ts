import { ConnectError, type SandboxUsage } from '@holt/e2b'
import { measuredUse } from '../sandbox/measured-use.ts'
import type { SandboxVisit } from '../sandbox/sandbox-visit.ts'

/** Returns the present use of a runtime. */
export async function sandboxUsage({ service, row }: SandboxVisit): Promise<SandboxUsage> {
  const now = await service.usage.now(row.runtime_id)
  if (now === null) throw new ConnectError('unavailable', 'The use of the sandbox cannot be measured.')
  return measuredUse(row, now)
}
