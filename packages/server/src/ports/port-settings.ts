import { z } from 'zod'
import { recordEvent } from '../events/record-event.ts'
import { limitReached } from '../limits/limit-reached.ts'
import { findRuntime, notRunning, type RuntimeRef } from '../runtimes/find-runtime.ts'
import { isAlive } from '../runtimes/states.ts'
import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'

/** The most ports of a runtime that were ever rotated or made public. */
const maxPorts = 256

const PortSetting = z.object({ generation: z.number().int(), public: z.boolean() })

/** What is decided of one port. Tokens are valid for one generation. */
export type PortSetting = Readonly<z.infer<typeof PortSetting>>

const PortSettings = z.record(z.string(), PortSetting)

const untouched: PortSetting = { generation: 0, public: false }

/** What is decided of a port of a runtime: private where nobody said otherwise. */
export function settingOf(row: Pick<RuntimeRow, 'ports_json'>, port: number): PortSetting {
  return readSettings(row)[port] ?? untouched
}

/** The ports of a runtime that are public, in order. */
export function publicPorts(row: Pick<RuntimeRow, 'ports_json'>): readonly number[] {
  return Object.entries(readSettings(row))
    .filter(([, setting]) => setting.public)
    .map(([port]) => Number(port))
    .sort((a, b) => a - b)
}

/** Changes what is decided of a port, and answers the runtime as it is then. */
export async function changeSetting(
  service: Service,
  { ref, port }: { ref: RuntimeRef; port: number },
  change: (setting: PortSetting) => PortSetting,
): Promise<RuntimeRow> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (!isAlive(row.state)) throw notRunning(row)
    const settings = readSettings(row)
    const changed = { ...settings, [port]: change(settings[port] ?? untouched) }
    if (Object.keys(changed).length > maxPorts)
      throw limitReached(
        'quota_exceeded',
        `A runtime has at most ${maxPorts} ports that were rotated or made public.`,
        {
          limit: maxPorts,
        },
      )
    const written = await write(service, row, { port, settings: changed })
    if (written !== null) return written
  }
}

function readSettings({ ports_json }: Pick<RuntimeRow, 'ports_json'>): Readonly<Record<string, PortSetting>> {
  return PortSettings.parse(JSON.parse(ports_json))
}

async function write(
  { store, now }: Service,
  row: RuntimeRow,
  { port, settings }: { port: number; settings: Readonly<Record<string, PortSetting>> },
): Promise<RuntimeRow | null> {
  const at = now()
  return store.change(async (changes) => {
    const changed = await changes
      .updateTable('runtimes')
      .set({ ports_json: JSON.stringify(settings), updated_at: at, revision: row.revision + 1 })
      .where('project_id', '=', row.project_id)
      .where('runtime_id', '=', row.runtime_id)
      .where('revision', '=', row.revision)
      .returningAll()
      .executeTakeFirst()
    if (changed === undefined) return null
    await recordEvent(changes, {
      projectId: row.project_id,
      type: 'runtime.port_changed',
      subjectId: row.runtime_id,
      data: { port, public: settings[port]?.public ?? false },
      at,
    })
    return changed
  })
}
