import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { byLength, leftOutOf, shareOf } from '@holt/testkit'

/** The files whose subject is the class: a run that has them has them in both classes. */
export const ofTheClass: readonly string[] = [
  ...['isolation', 'limits', 'disk-full', 'pools', 'diff'],
  ...['egress', 'egress-bypass', 'egress-clients'],
]

/**
 * The files of which a short run draws a quarter. The tests of the packages and of the guest cover
 * the same code in parts, or another file here covers the way to it.
 */
export const drawn: readonly string[] = [
  ...['agent-cli', 'agents', 'archive', 'bad-input', 'code-languages', 'command-input', 'copy-atomic'],
  ...['copy-destinations', 'copy-keeps', 'docs-site', 'e2b-commands-and-files', 'e2b-templates', 'examples'],
  ...['file-operations.property', 'files-search', 'floods', 'git', 'large-transfers', 'lifecycle-cli'],
  ...['lifecycle.property', 'logs', 'mcp', 'metrics', 'platform-keys', 'postgres', 'projects', 'pulls'],
  ...['retaken-checkpoints', 'sessions', 'start-command', 'templates-cli', 'trees-cli', 'watch'],
]

/** Files about the life of a runtime, half a minute or more each. A short run draws a third. */
export const aboutLives: readonly string[] = [
  ...['deadlines', 'diff', 'egress-clients', 'forks', 'lifecycle-restart', 'pause', 'pools', 'snapshots'],
]

/** Files that take a minute or two. A short run draws one. */
export const slow: readonly string[] = ['code-interpreter', 'console-build', 'console-stories', 'console-terminal']

/** Files that take several minutes. Only a long run has them. */
export const slowest: readonly string[] = ['console-pages', 'fleet-drain', 'fleet-moves']

/** The chaos tests that measure nothing: others may run beside them. A short run draws two. */
export const crashFiles: readonly string[] = [
  ...['damage', 'failpoints', 'fleet-rounds', 'kill-rounds', 'reboot', 'requests-in-two-readings'],
]

/** Returns the names of all files of end-to-end tests, without their ending, in their order. */
export function allFiles(): readonly string[] {
  const files = readdirSync(join(import.meta.dirname, '..')).filter((file) => file.endsWith('.test.ts'))
  return files.map((file) => basename(file, '.test.ts')).sort()
}

/** Returns the names of the files that this run leaves out. A long run leaves out none. */
export function leftOut(): readonly string[] {
  return [
    ...leftOutOf(drawn, 1 / 4, 'end-to-end files'),
    ...leftOutOf(aboutLives, 1 / 3, 'files about lives'),
    ...leftOutOf(slow, 1 / 4, 'slow files'),
    ...byLength({ short: slowest, long: [], soak: [] }),
  ]
}

/** Returns the chaos tests beside the end-to-end tests that this run has. A long run has all. */
export function drawnCrashFiles(): readonly string[] {
  return shareOf(crashFiles, 1 / 3, 'chaos tests that measure nothing')
}
