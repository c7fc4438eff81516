import { mkdir, rename } from 'node:fs/promises'
import { gatewayKeys, startGateway } from '../../../packages/object-store/test/support/versitygw.ts'
import type { Settings } from '../service-process.ts'

/** The kinds of object stores that hosts can share here. */
export type ObjectsKind = 'a directory' | 'S3'

/** The object store of a fleet. */
export interface SharedObjects extends AsyncDisposable {
  /** The settings by which hosts reach it. */
  readonly settings: Settings
  /** Makes it unreachable until `comeBack`. */
  leave(): Promise<void>
  comeBack(): Promise<void>
}

/** Opens an object store of a kind. `dir` does not exist yet, and `address` is of this machine. */
export async function shareObjects(
  kind: ObjectsKind,
  { dir, address }: { readonly dir: string; readonly address: string },
): Promise<SharedObjects> {
  if (kind === 'S3') {
    const gateway = await startGateway(address)
    return {
      settings: { ...gatewayKeys, HOLT_OBJECT_STORE: gateway.url },
      leave: () => gateway.stop(),
      comeBack: () => gateway.start(),
      [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
    }
  }
  await mkdir(dir, { mode: 0o700 })
  const away = `${dir}.away`
  return {
    settings: { HOLT_OBJECT_STORE: `file://${dir}` },
    leave: () => rename(dir, away),
    comeBack: () => rename(away, dir),
    [Symbol.asyncDispose]: async () => {},
  }
}
