import { mkdir, rename } from 'node:fs/promises'
import { gatewayKeys, gatewayUrl, startGateway } from '../../../packages/object-store/test/support/versitygw.ts'
import type { Settings } from '../service-process.ts'
import { FaultyStore, type StoreBehaviour } from './faulty-store.ts'
import type { FleetNetwork } from './fleet-network.ts'

/** The kinds of object stores that hosts can share here. */
export type ObjectsKind = 'a directory' | 'S3'

/** The object store of a fleet. */
export interface SharedObjects extends AsyncDisposable {
  /** The settings by which hosts reach it. */
  readonly settings: Settings
  /** The directory with the bytes of all objects. */
  readonly directory: string
  /** Makes it unreachable until `comeBack`. */
  leave(): Promise<void>
  comeBack(): Promise<void>
  /** Makes it misbehave; null: a directory works, or is away. */
  readonly behave: ((behaviour: StoreBehaviour) => Promise<void>) | null
}

/** Opens an object store of a kind. `dir` does not exist yet. */
export async function shareObjects(
  kind: ObjectsKind,
  { dir, network }: { readonly dir: string; readonly network: FleetNetwork },
): Promise<SharedObjects> {
  if (kind === 'S3') return shareGateway(network)
  await mkdir(dir, { mode: 0o700 })
  const away = `${dir}.away`
  return {
    settings: { HOLT_OBJECT_STORE: `file://${dir}` },
    directory: dir,
    leave: () => rename(dir, away),
    comeBack: () => rename(away, dir),
    behave: null,
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Starts versitygw on this machine, behind a proxy in the network of the fleet. */
async function shareGateway(network: FleetNetwork): Promise<SharedObjects> {
  await using undo = new AsyncDisposableStack()
  const gateway = undo.use(await startGateway(network.addressOf('outside')))
  const proxy = undo.use(
    await FaultyStore.start({
      namespace: network.namespaceOf('store'),
      address: network.addressOf('store'),
      target: gateway.at,
    }),
  )
  const parts = undo.move()
  return {
    settings: { ...gatewayKeys, HOLT_OBJECT_STORE: gatewayUrl(proxy.at) },
    directory: gateway.directory,
    leave: () => gateway.stop(),
    comeBack: () => gateway.start(),
    behave: (behaviour) => proxy.behave(behaviour),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
