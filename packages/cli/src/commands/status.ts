import { HoltConnectionError, HoltError, type Identity, type Readiness, readCredentialsFile } from '@holt/sdk'
import type { Command } from 'commander'
import { connect } from '../connect.ts'
import { findDaemon, logPath, stateDir } from '../daemon/state.ts'
import { print, printJson, styledData } from '../output/print.ts'
import { quotaLines } from '../output/quota-lines.ts'
import { printable } from '../output/report-error.ts'
import { act } from '../verb.ts'

const examples = `
Examples:
  holt status
  holt status --json | jq -r .url`

/** Adds `holt status`: whether the service runs and what it can do. */
export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description('show whether the service runs and is ready; exits 1 when it is not')
    .option('--state-dir <path>', 'of which installation (default: HOLT_STATE_DIR, else /var/lib/holt)')
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples)
  act(command, async (options: { stateDir?: string; json?: boolean }) => {
    if (options.stateDir !== undefined) process.env.HOLT_STATE_DIR = options.stateDir
    const daemon = await findDaemon()
    const url = process.env.HOLT_URL || readCredentialsFile()?.url || null
    const readiness = await askReadiness()
    const identity = readiness === null ? null : await askIdentity()
    if (options.json === true) printJson({ url, pid: daemon?.pid ?? null, state_dir: stateDir(), readiness, identity })
    else {
      tell(url, daemon?.pid ?? null, readiness)
      if (identity !== null) tellUse(identity)
    }
    return readiness?.status === 'ready' ? 0 : 1
  })
}

async function askReadiness(): Promise<Readiness | null> {
  try {
    return await connect({ maxRetries: 0 }).ready()
  } catch (error) {
    if (error instanceof HoltConnectionError) return null
    throw error
  }
}

/** Null where the service does not answer, or not to this key. */
async function askIdentity(): Promise<Identity | null> {
  try {
    return await connect({ maxRetries: 0 }).whoami()
  } catch (error) {
    if (error instanceof HoltError) return null
    throw error
  }
}

/** What the project has of its quotas; what it has none of and may have any number of is left out. */
function tellUse({ project, quotas, use }: Identity): void {
  print(`project    ${project.name}`)
  const shown = quotaLines(quotas, use).filter(({ name }) => quotas[name] !== null || name === 'runtimes')
  for (const { name, used, limit } of shown) print(`           ${name}: ${used} of ${limit}`)
}

function tell(url: string | null, pid: number | null, readiness: Readiness | null): void {
  print(
    `service    ${readiness === null ? styledData('red', 'does not answer') : `${readiness.status.replace('_', ' ')}, version ${readiness.version}`}`,
  )
  print(`address    ${url ?? '-'}`)
  print(`process    ${pid ?? '-'}`)
  print(`state      ${stateDir()}`)
  print(`log        ${logPath()}`)
  for (const reason of readiness?.reasons ?? []) print(`waits for  ${printable(reason)}`)
  for (const [name, facts] of Object.entries(readiness?.isolation ?? {})) {
    print(
      `${name.padEnd(10)} ${facts.available ? styledData('green', 'available') : `not available: ${printable(facts.reason ?? 'no reason is known')}`}`,
    )
    if (facts.fix !== null && !facts.available) print(`           FIX: ${printable(facts.fix)}`)
  }
}
