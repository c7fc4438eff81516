import { HoltConnectionError, HoltError, type Identity, type Readiness, readCredentialsFile } from '@holt/sdk'
import type { Command } from 'commander'
import { connect } from '../connection/connect.ts'
import { foreignAddress, foreignFact, foreignHint } from '../daemon/foreign-service.ts'
import { findDaemon, logPlace, stateDir } from '../daemon/state.ts'
import { print, printJson, say, styledData } from '../output/print.ts'
import { quotaLines } from '../output/quota-lines.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt status
  holt status --json | jq -r .url`

/** Adds `holt status`, which reports if the service runs, and its abilities. */
export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description('show whether the service runs and is ready; exits 1 if not')
    .option(
      '--state-dir <path>',
      'the state directory of the installation (default: HOLT_STATE_DIR, else /var/lib/holt)',
    )
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples)
  act(command, async (options: { stateDir?: string; json?: boolean }) => {
    if (options.stateDir !== undefined) process.env.HOLT_STATE_DIR = options.stateDir
    const daemon = await findDaemon()
    const address = process.env.HOLT_URL || readCredentialsFile()?.url || null
    const answered = await askReadiness()
    const { identity, otherUrl } = answered === null ? { identity: null, otherUrl: null } : await askIdentity()
    // The answer of a service of another state directory says nothing about this one.
    const readiness = otherUrl === null ? answered : null
    const counts = identity?.key.scopes.includes('operator') === true ? await orNull(countAll) : null
    const url = otherUrl === null ? address : null
    const pid = daemon?.pid ?? null
    if (options.json === true)
      printJson({
        url,
        pid,
        state_dir: stateDir(),
        other_service: otherUrl,
        readiness,
        identity,
        all_projects: counts,
      })
    else {
      tell({ url, pid, log: await logPlace() }, readiness)
      if (otherUrl !== null) {
        say(`holt: ${printable(foreignFact(otherUrl))}.`)
        say(`hint: ${printable(foreignHint(otherUrl))}`)
      }
      if (identity !== null) tellUse(identity, counts)
    }
    return readiness?.status === 'ready' ? 0 : 1
  })
}

/** The time after which a service counts as not answering, in seconds. */
const answerSecs = 5

async function askReadiness(): Promise<Readiness | null> {
  try {
    return await connect({ maxRetries: 0, timeoutSecs: answerSecs }).ready()
  } catch (error) {
    if (error instanceof HoltConnectionError) return null
    throw error
  }
}

/**
 * Returns the identity of this key; null if the service does not answer, or refuses the key. A
 * service of another state directory has its address in `otherUrl`.
 */
async function askIdentity(): Promise<{ readonly identity: Identity | null; readonly otherUrl: string | null }> {
  try {
    return { identity: await connect({ maxRetries: 0 }).whoami(), otherUrl: null }
  } catch (error) {
    if (error instanceof HoltError) return { identity: null, otherUrl: await foreignAddress(error) }
    throw error
  }
}

/** Returns the answer; null if the service does not answer, or refuses this key. */
async function orNull<Answer>(ask: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof HoltError) return null
    throw error
  }
}

/** The totals over all projects of the service. */
interface Counts {
  readonly projects: number
  readonly runtimes: number
  readonly paused_runtimes: number
}

async function countAll(): Promise<Counts> {
  const projects = await connect({ maxRetries: 0 }).projects.list({ limit: 100 }).all()
  const sum = (name: 'runtimes' | 'paused_runtimes') => projects.reduce((total, { use }) => total + use[name], 0)
  return { projects: projects.length, runtimes: sum('runtimes'), paused_runtimes: sum('paused_runtimes') }
}

/**
 * Prints the project's use of its quotas, and the totals beside it. Leaves out unused quotas
 * without a limit.
 */
function tellUse({ project, quotas, use }: Identity, counts: Counts | null): void {
  print(
    counts === null
      ? 'runtimes   counted below for this project alone: a key with the scope operator has all of them counted'
      : `runtimes   ${counts.runtimes} of all projects (${counts.projects}), and ${counts.paused_runtimes} paused`,
  )
  print(`project    ${project.name}`)
  const shown = quotaLines(quotas, use).filter(({ name }) => quotas[name] !== null || name === 'runtimes')
  for (const { name, used, limit } of shown) print(`           ${name}: ${used} of ${limit}`)
}

/** The facts about the service on this machine. */
interface Place {
  readonly url: string | null
  readonly pid: number | null
  readonly log: string
}

function tell({ url, pid, log }: Place, readiness: Readiness | null): void {
  print(
    `service    ${readiness === null ? styledData('red', 'does not answer') : `${readiness.status.replace('_', ' ')}, version ${readiness.version}`}`,
  )
  print(`address    ${url ?? '-'}`)
  print(`process    ${pid ?? '-'}`)
  print(`state      ${stateDir()}`)
  print(`log        ${log}`)
  for (const reason of readiness?.reasons ?? []) print(`waits for  ${printable(reason)}`)
  for (const [name, facts] of Object.entries(readiness?.isolation ?? {})) {
    print(
      `${name.padEnd(10)} ${facts.available ? styledData('green', 'available') : `not available: ${printable(facts.reason ?? 'no reason is known')}`}`,
    )
    if (facts.fix !== null && !facts.available) print(`           FIX: ${printable(facts.fix)}`)
  }
}
