import { version } from './verb/version.ts'

const args = process.argv.slice(2)
const [only, ...others] = args

// Scripts ask for the version often, and it needs nothing of the rest.
if (others.length === 0 && (only === '--version' || only === '-V')) {
  // A reader that has closed the pipe is no failure.
  process.stdout.on('error', () => {})
  process.stdout.write(`${version}\n`)
} else {
  const { keepCompiledCode } = await import('./keep-compiled-code.ts')
  keepCompiledCode()
  const { runCli } = await import('./run-cli.ts')
  process.exitCode = await runCli(args)
}
