import type { RuntimeSpec } from '@holt/engine'
import type { OciResources } from './oci-config.ts'

/**
 * The shortest quota of the kernel's bandwidth control, in microseconds
 * (`Documentation/scheduler/sched-bwc.rst`).
 */
const QUOTA_MIN_US = 1_000
const PERIOD_US = 100_000
const LONG_PERIOD_US = 1_000_000

/**
 * Returns a spec's limits for the cgroup. `processes` is the number that the host sees. Under
 * gVisor it is more than the runtime has.
 */
export function cgroupResources(spec: RuntimeSpec, processes: number, limitsSwap: boolean): OciResources {
  const limit = spec.memoryMiB * 2 ** 20
  const period = spec.cpu * PERIOD_US < QUOTA_MIN_US ? LONG_PERIOD_US : PERIOD_US
  return {
    // OCI's `swap` is memory and swap together, so the same number means no swap.
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
