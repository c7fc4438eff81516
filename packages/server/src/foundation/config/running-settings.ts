import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { isDiskFull } from '../store/disk-full.ts'
import { ConfigError, parseConfig, settingNames } from './config.ts'
import { findDaemon } from './daemon-lock.ts'
import { readJsonIfThere } from './installation.ts'
import { writeDurably } from './write-durably.ts'

/** An environment. Only its settings are used. */
type Environment = Readonly<Record<string, string | undefined>>

/**
 * The settings of a daemon, its pid, and the unit of systemd that has started it. A value that may
 * contain a password is stored as a digest.
 */
const RunningSettings = z.object({
  pid: z.number(),
  unit: z.string().nullable().optional(),
  settings: z.record(z.string(), z.string()),
})

/** Settings that may have a password or a key in them. */
const mayBeSecret = /^HOLT_DATABASE_URL$|^HOLT_ARTIFACT_KEY$|^OTEL_/

/**
 * The settings that are not compared. The state directory is the same by definition, and
 * `HOLT_ADOPT_STORE` holds for one start.
 */
const notCompared = ['HOLT_STATE_DIR', 'HOLT_ADOPT_STORE']

/** A setting that differs from that of the running daemon; null: not set, so the default. */
export interface ChangedSetting {
  readonly name: string
  readonly running: string | null
  readonly here: string | null
}

/**
 * Stores the settings of this daemon, so that later commands can compare theirs. On a full disk
 * nothing is stored, and later commands report no difference.
 */
export async function noteSettings(stateDir: string, env: Environment, unit: string | null = null): Promise<void> {
  const text = `${JSON.stringify({ pid: process.pid, unit, settings: settingsOf(env) })}\n`
  await writeDurably(pathOf(stateDir), text).catch((error: unknown) => {
    if (!isDiskFull(error)) throw error
  })
}

/**
 * Returns the unit of systemd that ran the last daemon of a state directory, even if that was
 * stopped in order. Returns null if no unit did.
 */
export async function lastUnit(stateDir: string): Promise<string | null> {
  return (await readNoted(stateDir))?.unit ?? null
}

/**
 * Returns the settings of an environment that differ from those of the running daemon. Returns none
 * if no daemon runs. A daemon of systemd has its settings from its unit, so only settings that are
 * set here count. Throws `ConfigError` if the settings here are wrong.
 */
export async function changedSettings(stateDir: string, env: Environment): Promise<readonly ChangedSetting[]> {
  const daemon = await findDaemon(stateDir)
  const noted = await readNoted(stateDir)
  parseConfig(env)
  if (daemon === null || noted?.pid !== daemon.pid) return []
  return differences(noted.settings, settingsOf(env)).filter(({ here }) => daemon.unit == null || here !== null)
}

/**
 * Returns the settings of an environment that differ from those of the last daemon. Returns none if
 * a daemon runs, or if there never was one. Throws `ConfigError` as above.
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

/**
 * Returns true if a setting means the same in both, for example if one of them states the default.
 */
function isSame(name: string, running: Environment, here: Environment): boolean {
  if (running[name] === here[name]) return true
  if (mayBeSecret.test(name)) return false
  return meaningOf(name, running[name]) === meaningOf(name, here[name])
}

/** Returns the configuration for a value of a setting, or the value if it needs another setting. */
function meaningOf(name: string, value: string | undefined): string | undefined {
  // Without it, the other settings for clients of E2B mean nothing.
  const others = { HOLT_ALLOW_REMOTE: '1', ...(name.startsWith('HOLT_E2B_') ? { HOLT_E2B: 'on' } : {}) }
  try {
    return JSON.stringify(parseConfig({ ...others, [name]: value }))
  } catch (error) {
    if (error instanceof ConfigError) return value
    throw error
  }
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
