import { goArchs, goPath } from './build-guest.ts'
import type { Arch } from './facts.ts'
import { run } from './run.ts'

const script = `
set -euo pipefail
. scripts/lib/report.sh
. scripts/lib/runsc.sh
build_runsc "$1" "$2"
runsc_version
`

/**
 * Builds gVisor's runsc for a processor, as set-up does for this machine, and returns its version.
 * The same sources give the same bytes.
 */
export async function buildRunsc(root: string, arch: Arch, target: string): Promise<string> {
  const env = { GOOS: 'linux', GOFLAGS: '', GOTOOLCHAIN: 'auto', PATH: goPath(root) }
  return (await run(['bash', '-c', script, 'build-runsc', goArchs[arch], target], { cwd: root, env })).trim()
}
