import { isSet, type Port } from '@holt/protocol'
import { moment } from '../../foundation/store/moment.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { dayMs } from '../../foundation/time/day.ts'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { openGuest } from '../../runtimes/links/open-guest.ts'
import { changeSetting, type PortSetting, publicPorts, settingOf } from '../../runtimes/state/port-settings.ts'
import type { Api, Handlers } from '../api.ts'

/** The time for the guest to report servers, beyond the requested wait, in milliseconds. */
const answerTimeoutMs = 15_000

/** The lifetime of the token in the answer to a change, in seconds. */
const defaultExpirySecs = dayMs / 1000

/** The routes of ports. */
export const portHandlers = { listPorts, getPort, updatePort, rotatePort } satisfies Partial<Handlers>

async function listPorts(call: Call<'listPorts', Api>): Promise<Answer> {
  const { service, ref } = call
  const { row, guest } = await openGuest(service, ref, { gone: call.gone })
  const listening = new Set(await guest.ports.list(within(call, answerTimeoutMs)))
  const open = new Set(publicPorts(row))
  const ports = [...new Set([...listening, ...open])].sort((a, b) => a - b)
  const data = ports.map((port) => ({ port, public: open.has(port), listening: listening.has(port) }))
  return { status: 200, json: { data } }
}

type PortCall = Call<'getPort', Api> | Call<'updatePort', Api> | Call<'rotatePort', Api>

async function getPort(call: Call<'getPort', Api>): Promise<Answer> {
  const { wait_secs, expires_in_secs, once } = call.query
  return present(call, {
    waitMs: Math.round(wait_secs * 1000),
    expiresInSecs: expires_in_secs,
    isOnce: isSet(once),
  })
}

async function updatePort(call: Call<'updatePort', Api>): Promise<Answer> {
  const isPublic = call.body.public
  const row = await change(call, (setting) => ({ ...setting, public: isPublic }))
  if (!isPublic) call.service.ports.cut({ runtimeId: row.runtime_id, port: call.params.port, onlyPublic: true })
  return present(call)
}

async function rotatePort(call: Call<'rotatePort', Api>): Promise<Answer> {
  const row = await change(call, (setting) => ({ ...setting, generation: setting.generation + 1 }))
  call.service.ports.cut({ runtimeId: row.runtime_id, port: call.params.port })
  return present(call)
}

function change({ service, params, ref }: PortCall, to: (setting: PortSetting) => PortSetting): Promise<RuntimeRow> {
  return changeSetting(service, { ref, port: params.port }, to)
}

async function present(
  call: PortCall,
  {
    waitMs = 0,
    expiresInSecs = defaultExpirySecs,
    isOnce = false,
  }: { waitMs?: number; expiresInSecs?: number; isOnce?: boolean } = {},
): Promise<Answer> {
  const { service, caller, params, ref } = call
  const { port } = params
  const opened = await openGuest(service, ref, { gone: call.gone })
  const listening = await opened.guest.ports.wait(port, waitMs, within(call, waitMs + answerTimeoutMs))
  // It may have been rotated while it was waited for: the token is of the generation that is.
  const { row } = waitMs === 0 ? opened : await openGuest(service, ref, { gone: call.gone })
  const { generation, public: isPublic } = settingOf(row, port)
  const expiresAtSecs = Math.floor(service.now() / 1000) + expiresInSecs
  const runtimeId = row.runtime_id as Port['runtime_id']
  const { keyId, keyVersion } = caller
  const grant = { projectId: row.project_id, runtimeId, port, generation, keyId, keyVersion, expiresAtSecs }
  const { token, expiresAt } = isOnce
    ? service.onceTokens.make(grant)
    : { token: await service.runtimeTokens.port(grant), expiresAt: expiresAtSecs * 1000 }
  const json: Port = {
    runtime_id: runtimeId,
    port,
    public: isPublic,
    listening,
    ...service.addresses.of(runtimeId, port),
    token,
    expires_at: moment(expiresAt),
  }
  return { status: 200, json }
}
