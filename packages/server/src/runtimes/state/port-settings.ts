import type { HoltError } from '@holt/protocol'
import { z } from 'zod'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { changeSettings } from './change-settings.ts'

/** The maximum number of ports with settings for one runtime. */
const maxPorts = 256

const PortSetting = z.object({ generation: z.number().int(), public: z.boolean() })

/** The setting of one port. Tokens are valid for one generation. */
export type PortSetting = Readonly<z.infer<typeof PortSetting>>

const PortSettings = z.record(z.string(), PortSetting)

const untouched: PortSetting = { generation: 0, public: false }

/** Returns the setting of a runtime's port. The default is private. */
export function settingOf(row: Pick<RuntimeRow, 'ports_json'>, port: number): PortSetting {
  return readSettings(row)[port] ?? untouched
}

/** Returns the public ports of a runtime, in order. */
export function publicPorts(row: Pick<RuntimeRow, 'ports_json'>): readonly number[] {
  return Object.entries(readSettings(row))
    .filter(([, setting]) => setting.public)
    .map(([port]) => Number(port))
    .sort((a, b) => a - b)
}

/** Changes the settings of a port. Returns the changed runtime. */
export async function changeSetting(
  service: Runtimes,
  { ref, port }: { ref: RuntimeRef; port: number },
  change: (setting: PortSetting) => PortSetting,
): Promise<RuntimeRow> {
  return changeSettings(service, ref, (row) => {
    const settings = readSettings(row)
    const setting = change(settings[port] ?? untouched)
    const changed = { ...settings, [port]: setting }
    if (Object.keys(changed).length > maxPorts) throw tooManyPorts()
    return {
      set: { ports_json: JSON.stringify(changed) },
      type: 'runtime.port_changed',
      data: { port, public: setting.public },
    }
  })
}

function tooManyPorts(): HoltError {
  const message = `A runtime has at most ${maxPorts} ports that were rotated or made public.`
  return limitReached('quota_exceeded', message, { limit: maxPorts })
}

function readSettings({ ports_json }: Pick<RuntimeRow, 'ports_json'>): Readonly<Record<string, PortSetting>> {
  return PortSettings.parse(JSON.parse(ports_json))
}
