import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { shareOf } from '@holt/testkit'

/** The files whose subject is the class: every run has them, in both classes. */
export const ofTheClass: readonly string[] = [
  ...['isolation', 'limits', 'disk-full', 'pools', 'diff'],
  ...['egress', 'egress-bypass', 'egress-clients'],
]

/**
 * The files of which a short run draws a quarter. The tests of the packages and of the guest cover
 * the same code in parts, or another file here covers the way to it.
 */
export const drawn: readonly string[] = [
  ...[
    'agent-cli',
    'agents',
    'archive',
    'bad-input',
    'code-interpreter',
    'code-languages',
    'command-input',
    'console-build',
    'console-terminal',
    'copy-atomic',
  ],
  ...['copy-destinations', 'copy-keeps', 'docs-site', 'e2b-commands-and-files', 'e2b-templates', 'examples'],
  ...['file-operations.property', 'files-search', 'floods', 'git', 'large-transfers', 'lifecycle-cli'],
  ...['lifecycle.property', 'logs', 'mcp', 'metrics', 'platform-keys', 'postgres', 'projects', 'pulls'],
  ...['retaken-checkpoints', 'sessions', 'start-command', 'templates-cli', 'trees-cli', 'watch'],
]

/** The share of the drawn files that a short run has. */
const share = 1 / 4

/** Returns the names of all files of end-to-end tests, without their ending, in their order. */
export function allFiles(): readonly string[] {
  const files = readdirSync(join(import.meta.dirname, '..')).filter((file) => file.endsWith('.test.ts'))
  return files.map((file) => basename(file, '.test.ts')).sort()
}

/** Returns the names of the files that this run leaves out. A long run leaves out none. */
export function leftOut(): readonly string[] {
  const here = shareOf(drawn, share, 'end-to-end files')
  return drawn.filter((name) => !here.includes(name))
}
