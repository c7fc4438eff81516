import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { isDiskFull } from '../store/disk-full.ts'
import { parseConfig, settingNames } from './config.ts'
import { findDaemon } from './daemon-lock.ts'
import { readJsonIfThere } from './installation.ts'
import { writeDurably } from './write-durably.ts'

/** An environment, of which the settings alone are looked at. */
type Environment = Readonly<Record<string, string | undefined>>

/**
 * The settings that a daemon was started with, its pid, and the unit of systemd that has started
 * it. What may have a password in it is there as a digest.
 */
const RunningSettings = z.object({
  pid: z.number(),
  unit: z.string().nullable().optional(),
  settings: z.record(z.string(), z.string()),
})

/** Settings that may have a password in them. */
const mayBeSecret = /^HOLT_DATABASE_URL$|^OTEL_/

/** What holds for one start, or is the same by itself where the state directory is. */
const notCompared = ['HOLT_STATE_DIR', 'HOLT_ADOPT_STORE']

/**
 * A setting that is not as it was when the daemon was started; null: not set, and so the default.
 */
export interface ChangedSetting {
  readonly name: string
  readonly running: string | null
  readonly here: string | null
}

/**
 * Notes what this daemon was started with, for those who ask later whether that is what they want.
 * On a full disk it is not noted, and they are told nothing.
 */
export async function noteSettings(stateDir: string, env: Environment, unit: string | null = null): Promise<void> {
  const text = `${JSON.stringify({ pid: process.pid, unit, settings: settingsOf(env) })}\n`
  await writeDurably(pathOf(stateDir), text).catch((error: unknown) => {
    if (!isDiskFull(error)) throw error
  })
}

/**
 * The unit of systemd that has run the last daemon of a state directory, also where that was
 * stopped in order; null: none has.
 */
export async function lastUnit(stateDir: string): Promise<string | null> {
  return (await readNoted(stateDir))?.unit ?? null
}

/**
 * The settings of an environment that are others than those of the daemon which runs over the state
 * directory; none where no daemon runs. What systemd runs has its settings from its unit, so that
 * only those count that are set here. Throws `ConfigError` where the settings here are wrong.
 */
export async function changedSettings(stateDir: string, env: Environment): Promise<readonly ChangedSetting[]> {
  const daemon = await findDaemon(stateDir)
  const noted = await readNoted(stateDir)
  parseConfig(env)
  if (daemon === null || noted?.pid !== daemon.pid) return []
  return differences(noted.settings, settingsOf(env)).filter(({ here }) => daemon.unit == null || here !== null)
}

/**
 * The settings of an environment that are others than those of the last daemon, which has ended;
 * none where one runs, and where there was none. Throws `ConfigError` as above.
 */
export async function changedSinceLastStart(stateDir: string, env: Environment): Promise<readonly ChangedSetting[]> {
  const noted = await readNoted(stateDir)
  parseConfig(env)
  if (noted === null || (await findDaemon(stateDir)) !== null) return []
  return differences(noted.settings, settingsOf(env))
}

async function readNoted(stateDir: string): Promise<z.infer<typeof RunningSettings> | null> {
  return RunningSettings.safeParse(await readJsonIfThere(pathOf(stateDir))).data ?? null
}

function differences(running: Environment, here: Environment): readonly ChangedSetting[] {
  return settingNames
    .filter((name) => !notCompared.includes(name) && !isSame(name, running, here))
    .map((name) => ({ name, running: shown(name, running[name]), here: shown(name, here[name]) }))
}

function settingsOf(env: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    settingNames.flatMap((name) => {
      const value = env[name]
      return value === undefined || value === '' ? [] : [[name, mayBeSecret.test(name) ? digestOf(value) : value]]
    }),
  )
}

/** Whether a setting means the same: also where one of both says what is the default. */
function isSame(name: string, running: Environment, here: Environment): boolean {
  if (running[name] === here[name]) return true
  if (mayBeSecret.test(name)) return false
  const meaning = (value: string | undefined) => JSON.stringify(parseConfig({ HOLT_ALLOW_REMOTE: '1', [name]: value }))
  return meaning(running[name]) === meaning(here[name])
}

function shown(name: string, value: string | undefined): string | null {
  if (value === undefined) return null
  return mayBeSecret.test(name) ? 'another value' : value
}

function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('hex')
}

function pathOf(stateDir: string): string {
  return join(stateDir, 'running.json')
}
