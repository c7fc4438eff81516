import type { GuestChanged } from '@holt/guest-client'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import type { Inside } from '../inside.ts'
import { treeTimeoutMs } from './guest-timeouts.ts'
import { presentFile } from './present-file.ts'

/** Creates a symlink. */
export async function makeSymlink(call: Call<'makeSymlink', Inside>): Promise<Answer> {
  if (call.body.path === '/') throw invalidField('/path', 'must not be the root directory, which cannot be replaced')
  const { created, file } = await (await call.guest()).files.makeSymlink(call.body, within(call, treeTimeoutMs))
  return { status: created ? 201 : 200, json: presentFile(file) }
}

/** Changes the mode of a file or a tree. */
export async function changeMode(call: Call<'changeMode', Inside>): Promise<Answer> {
  const request = { ...call.body, mode: call.body.mode.padStart(4, '0') }
  return changed(request, await (await call.guest()).files.changeMode(request, within(call, treeTimeoutMs)))
}

/** Changes the owner of a file or a tree. */
export async function changeOwner(call: Call<'changeOwner', Inside>): Promise<Answer> {
  return changed(call.body, await (await call.guest()).files.changeOwner(call.body, within(call, treeTimeoutMs)))
}

function changed({ path }: { path: string }, { entry, changed: count }: GuestChanged): Answer {
  return { status: 200, json: { success: true, path, changed: count, entry: presentFile(entry) } }
}
