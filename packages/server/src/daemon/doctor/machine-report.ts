import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { ServerConfig } from '../../foundation/config/config.ts'
import { readIfThere } from '../../foundation/config/installation.ts'
import { version } from '../../foundation/config/version.ts'
import { type Check, ok } from './check.ts'
import { checkGuest } from './check-guest.ts'
import { checkE2b } from './e2b-checks.ts'
import { type MachineFacts, readMachineFacts } from './facts.ts'
import { checkKernel } from './kernel-checks.ts'
import { checkLeftovers, readLeftovers } from './leftover-checks.ts'
import { checkBaseTools, checkNode, checkRoot } from './machine-checks.ts'
import { checkDiskQuotas, checkQuotas } from './quota-checks.ts'
import { checkDisk, checkMasterKeys, checkStateDir, readDiskFacts } from './state-checks.ts'
import { checkTimeSource } from './time-source.ts'

/** The checks that start no engine, in the order in which people read them. */
export interface MachineReport {
  readonly machine: readonly Check[]
  readonly state: readonly Check[]
  readonly tools: readonly Check[]
  /** Null: this host is a front, which starts no runtimes. */
  readonly guest: Check | null
}

/**
 * Makes the checks that start no engine and do not read the store. A front needs nothing of what
 * runtimes need, and a worker has no master keys.
 */
export async function checkMachine(config: ServerConfig): Promise<MachineReport> {
  const [facts, disk] = await Promise.all([readMachineFacts(), readDiskFacts(config.stateDir)])
  const role = config.fleet?.role
  const runs = role !== 'front'
  return {
    machine: [
      ok('holt', version),
      checkNode(process.versions.node),
      ...(runs ? [checkRoot(process.geteuid?.()), ...checkKernel(facts)] : []),
      ...(await checkTimeSource()),
      await checkStateDir(config.stateDir),
      ...checkDisk(config.stateDir, disk),
      ...(runs ? checkBounds(config, facts, disk.sizeMiB) : []),
    ],
    state: [
      ...(role === 'worker' ? [] : [await checkMasterKeys(config)]),
      ...(await checkE2b(config)),
      ...(runs ? checkLeftovers(await leftoversOf(config, facts)) : []),
    ],
    tools: runs ? [await checkBaseTools(config)] : [],
    guest: runs ? await checkGuest(config, facts.arch) : null,
  }
}

/** Makes the checks of the machine of a running service. */
export async function checkOwnMachine(config: ServerConfig): Promise<readonly Check[]> {
  const { machine, state, tools, guest } = await checkMachine(config)
  return [...machine, ...state, ...tools, ...(guest === null ? [] : [guest])]
}

/** Checks what bounds runtimes on this machine. */
function checkBounds(config: ServerConfig, facts: MachineFacts, diskMiB: number): readonly Check[] {
  const machine = { memoryMiB: facts.memoryMiB, cpus: availableParallelism(), diskMiB }
  return [checkQuotas(config, machine), checkDiskQuotas(facts)]
}

async function leftoversOf({ stateDir }: ServerConfig, { cgroups }: MachineFacts) {
  const hierarchies = [...new Set(cgroups.controllers.values())]
  return readLeftovers({ stateDir, installationId: await installationOf(stateDir), hierarchies })
}

/** Returns the installation's id, or null before the first start. */
async function installationOf(stateDir: string): Promise<string | null> {
  const text = await readIfThere(join(stateDir, 'installation.json'))
  return /"id"\s*:\s*"([a-z0-9]{8})"/.exec(text ?? '')?.[1] ?? null
}
