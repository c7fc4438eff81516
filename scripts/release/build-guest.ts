import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Arch, ReleaseFacts } from './facts.ts'
import { run } from './run.ts'

/** Go's names of the processors. */
export const goArchs: Readonly<Record<Arch, string>> = { x64: 'amd64', arm64: 'arm64' }

/** Returns the PATH on which a repository's Go is found. */
export function goPath(root: string): string {
  return `${root}/.holt/tools/bin:${process.env.PATH}:/usr/local/go/bin`
}

/**
 * Builds the guest for a processor. The same sources give the same bytes. Throws if the guest has
 * another version than the release.
 */
export async function buildGuest({ root, version }: ReleaseFacts, arch: Arch, target: string): Promise<void> {
  const flags = ['-trimpath', '-buildvcs=false', '-ldflags=-s -w', '-o', target]
  const env = {
    GOOS: 'linux',
    GOARCH: goArchs[arch],
    CGO_ENABLED: '0',
    GOFLAGS: '',
    GOTOOLCHAIN: 'auto',
    PATH: goPath(root),
  }
  await run(['go', 'build', ...flags, '.'], { cwd: join(root, 'guest'), env })
  if (!(await readFile(target)).includes(`holt-guest version ${version}\n`))
    throw new Error(`guest/internal/api/version.go has another version than ${version}`)
}
