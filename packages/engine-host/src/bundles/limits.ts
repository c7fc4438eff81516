import type { RuntimeSpec } from '@holt/engine'
import type { OciResources } from './oci-config.ts'

/**
 * The shortest slice the kernel's bandwidth control takes, in microseconds
 * (`Documentation/scheduler/sched-bwc.rst`).
 */
const QUOTA_MIN_US = 1_000
const PERIOD_US = 100_000
const LONG_PERIOD_US = 1_000_000

/**
 * A spec's limits for the cgroup. `processes` counts what the host sees, which is more than the
 * runtime has under gVisor.
 */
export function cgroupResources(spec: RuntimeSpec, processes: number, limitsSwap: boolean): OciResources {
  const limit = spec.memoryMiB * 2 ** 20
  const period = spec.cpu * PERIOD_US < QUOTA_MIN_US ? LONG_PERIOD_US : PERIOD_US
  return {
    // OCI's `swap` is memory and swap together: the same number means none.
    memory: limitsSwap ? { limit, swap: limit } : { limit },
    cpu: {
      period,
      quota: Math.max(QUOTA_MIN_US, Math.round(spec.cpu * period)),
      shares: Math.max(2, Math.round(spec.cpu * 1024)),
    },
    pids: { limit: processes },
    devices: [{ allow: false, access: 'rwm' }],
  }
}
