import { keepCompiledCode } from './keep-compiled-code.ts'
import { print } from './output/print.ts'
import { version } from './version.ts'

const args = process.argv.slice(2)
const [only, ...others] = args

// Asked often by scripts, and needs nothing of the rest.
if (others.length === 0 && (only === '--version' || only === '-V')) print(version)
else {
  keepCompiledCode()
  const { runCli } = await import('./run-cli.ts')
  process.exitCode = await runCli(args)
}
