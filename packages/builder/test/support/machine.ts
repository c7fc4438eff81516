import { spawnSync } from 'node:child_process'
import { runscBinary } from '@holt/testkit'

/**
 * The abilities that this machine lacks for a test, as text for its title. Empty if it lacks none.
 */
export function lacks(...tools: readonly string[]): string {
  const programOf = (tool: string) => (tool === 'runsc' ? runscBinary() : tool)
  const missing = tools.filter((tool) => spawnSync('which', [programOf(tool)], { stdio: 'ignore' }).status !== 0)
  if (process.getuid?.() !== 0) missing.push('root')
  return missing.length === 0 ? '' : ` (skipped: this machine lacks ${missing.join(', ')})`
}

/**
 * Runs a command of the test's own and returns its output; what it wrote to stderr is in the error.
 */
export function run(
  argv: readonly string[],
  options: { readonly input?: string; readonly timeoutMs?: number } = {},
): Buffer {
  const [file = '', ...args] = argv
  const result = spawnSync(file, args, {
    input: options.input,
    timeout: options.timeoutMs ?? 60_000,
    maxBuffer: 256 * 2 ** 20,
  })
  if (result.status === 0) return result.stdout
  throw new Error(`${argv.join(' ')} ended with ${result.status}: ${result.stderr}${result.error ?? ''}`)
}
