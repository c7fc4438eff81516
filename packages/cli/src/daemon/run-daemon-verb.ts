import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { daemonProgram, stateDir } from './state.ts'

/** Runs a verb of the service's program in the foreground, with its input and output as ours, and answers its exit code. */
export async function runDaemonVerb(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', daemonProgram(), ...args], {
    stdio: 'inherit',
    env: { ...process.env, HOLT_STATE_DIR: stateDir() },
  })
  const [exitCode] = (await once(child, 'exit')) as [number | null]
  return exitCode ?? 1
}
