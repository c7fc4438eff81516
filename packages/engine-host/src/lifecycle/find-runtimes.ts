import { readdir, rm, rmdir } from 'node:fs/promises'
import { hasCode } from '../files/durable-files.ts'
import { cgroupFreezerOf, cgroupOf, type Host } from '../host/host.ts'
import { isRuntimeId, type RuntimePaths } from '../installation/layout.ts'
import { type RuntimeRecord, readRecord } from '../runtimes/runtime-record.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { isAlive } from '../tools/process-table.ts'
import { endRuntime } from './watch-runtimes.ts'

/**
 * Finds the runtimes of an earlier engine. Running ones get their listener again, and ended ones
 * report the reason. Incomplete ones wait for `ensure` or `remove`. Unidentified entries are
 * reported and kept, and do not stop the search.
 */
export async function findRuntimes(
  host: Host,
  here: { readonly installationId: string; readonly bootId: string },
): Promise<void> {
  for (const name of await readdir(host.layout.runtimes)) {
    try {
      const record = isRuntimeId(name) ? await readRecord(host.layout.runtime(name).record) : 'unreadable'
      if (record === 'absent' && (await removeHusk(host.layout.runtime(name)))) continue
      if (typeof record === 'string' || record.spec.id !== name || record.installationId !== here.installationId) {
        host.log.warn({ name, dir: host.layout.runtimes }, 'a runtime of another installation, kept')
        continue
      }
      await adoptRuntime(host, record, here.bootId)
    } catch (err) {
      host.log.error({ err, name }, 'cannot adopt a runtime, kept')
    }
  }
}

/**
 * Removes a directory that was just made or emptied when the engine died. The record is written
 * first and removed last, so a directory without one is empty. Returns false if it is not.
 */
async function removeHusk(paths: RuntimePaths): Promise<boolean> {
  await rm(`${paths.record}.tmp`, { force: true })
  try {
    await rmdir(paths.dir)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOTEMPTY', 'ENOTDIR', 'EBUSY')) return false
    throw error
  }
}

async function adoptRuntime(host: Host, record: RuntimeRecord, bootId: string): Promise<void> {
  const runtime = host.runtimes.adopt(record)
  if (record.state === 'ended') return
  if (record.bootId !== bootId) {
    const ending = { reason: 'host_restarted', message: 'the host has booted since' } as const
    await host.runtimes.change(runtime, { state: 'ended', process: null, ending })
    return
  }
  if (record.state === 'preparing') return
  // A runtime whose end has begun has no use. The checkpoint or removal that ends it was already
  // durable or requested.
  const isEnding = await cgroupOf(host, record.spec.id).isEnding()
  if (record.process !== null && !isEnding && (await isAlive(record.process))) {
    await readFrozen(host, runtime)
    await runtime.listener.open()
  } else await endRuntime(host, runtime)
}

/**
 * Reads whether a runtime of an earlier process is frozen. A runtime that is only partly frozen is
 * thawed, because its freeze was never reported to a client.
 */
async function readFrozen(host: Host, runtime: Runtime): Promise<void> {
  const freezer = cgroupFreezerOf(host, runtime.paths.id)
  if (freezer === null) return
  const isFrozen = await freezer.isFrozen()
  if (!isFrozen) await freezer.release()
  host.runtimes.setFrozen(runtime, isFrozen)
}
