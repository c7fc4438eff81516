import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { daemonProgram, stateDir } from './state.ts'
import { withoutUnknownSettings } from './warn-of-settings.ts'

/**
 * Runs a verb of the service's program in the foreground, with our input and output, and returns
 * its exit code.
 */
export async function runDaemonVerb(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--', daemonProgram(), ...args], {
    stdio: 'inherit',
    env: { ...withoutUnknownSettings(), HOLT_STATE_DIR: stateDir() },
  })
  const [exitCode] = (await once(child, 'exit')) as [number | null]
  return exitCode ?? 1
}

/**
 * A setting that has changed since a service was started. A null value means that it is not set.
 */
export interface ChangedSetting {
  readonly name: string
  readonly running: string | null
  readonly here: string | null
}

/**
 * The settings of an environment that differ from those of the running service or, if none runs, of
 * the last one.
 */
export interface ChangedSettings {
  readonly changed: readonly ChangedSetting[]
  readonly since_last_start: readonly ChangedSetting[]
}

/** Compares the settings of `env`. Throws with the program's message if a setting is wrong. */
export async function compareSettings(env: NodeJS.ProcessEnv): Promise<ChangedSettings> {
  const args = ['--disable-warning=ExperimentalWarning', '--', daemonProgram(), 'settings']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const [output, errors, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  if (exitCode !== 0) throw new Error(errors.trim().replace(/^error: /, ''))
  return JSON.parse(output) as ChangedSettings
}
