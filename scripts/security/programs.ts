import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The modules that may start programs. Each passes a list of arguments, and makes the environment
 * itself.
 */
const starters: readonly string[] = [
  'packages/builder/src/process/run-program.ts',
  'packages/builder/src/base/bootstrap.ts',
  'packages/cli/src/terminal/local-terminal.ts',
  'packages/cli/src/daemon/start-daemon.ts',
  'packages/cli/src/daemon/run-daemon-verb.ts',
  'packages/cli/src/ports/open-in-browser.ts',
  // With the variables of its user, to test the packages that the user has.
  'packages/cli/src/e2b/check-packages.ts',
  'packages/engine-host/src/egress/offer-tun.ts',
  'packages/engine-host/src/memory/memory-watcher.ts',
  'packages/engine-host/src/tools/launcher.ts',
  'packages/engine-host/src/tools/run-tool.ts',
  'packages/server/src/daemon/tell-manager.ts',
  'packages/server/src/daemon/certificate/trust-authority.ts',
  'packages/server/src/daemon/doctor/time-source.ts',
  // Builds and finds programs for tests; the service does not use them.
  'packages/testkit/src/build-once.ts',
  'packages/testkit/src/find-python.ts',
  'packages/testkit/src/install-pinned.ts',
  'packages/testkit/src/list-with-python.ts',
  'packages/testkit/src/mcp-conformance.ts',
  'packages/testkit/src/program-file.ts',
  'packages/testkit/src/pinned-uv.ts',
  'packages/testkit/src/published-clients.ts',
  'packages/testkit/src/requires.ts',
]

/** Returns a problem for each module that starts programs by a shell, or without being listed. */
export function programProblems(root: string): readonly string[] {
  return globSync('packages/*/src/**/*.ts', { cwd: root }).flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8')
    const starts = /from 'node:child_process'/.test(source)
    const shell = starts && /\bshell: (?!false)|\b(?:exec|execSync)\b[^'\n]*from 'node:child_process'/.test(source)
    return [
      ...(starts && !starters.includes(file)
        ? [`${file}: starts programs, and has no place in scripts/security/programs.ts`]
        : []),
      ...(shell ? [`${file}: starts programs by a shell`] : []),
    ]
  })
}
