import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { detectCgroups } from '../../src/cgroups/detect-cgroups.ts'
import type { EngineUnderTest } from './engine-under-test.ts'

/** CPU time that a runtime has used, in milliseconds, from its cgroup. */
export async function cpuMs({ options }: EngineUnderTest, id: string): Promise<number> {
  const host = await detectCgroups()
  const path = `/holt-${options.installationId}/${id}`
  const v1 = host.controllers.get('cpuacct')
  if (v1 !== undefined) return Number(await readFile(join(v1, path, 'cpuacct.usage'), 'utf8')) / 1e6
  const stat = await readFile(join(host.controllers.get('cpu') ?? '', path, 'cpu.stat'), 'utf8')
  return Number(/^usage_usec (\d+)$/m.exec(stat)?.[1]) / 1e3
}
