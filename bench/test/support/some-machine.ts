import type { RowReport } from '../../support/report.ts'

/** The machine of the reports in tests. */
export const someMachine: RowReport['machine'] = {
  cpus: 2,
  cpu_model: 'Some CPU',
  memory_mib: 1024,
  os: 'Some Linux',
  kernel: '6.1',
  cgroup: 'v2',
  file_system: 'ext4',
  versions: { holt: '0.1.0' },
}
