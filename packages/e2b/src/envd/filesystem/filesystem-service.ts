import type { z } from 'zod'
import { MethodMaker, type RpcCall, type RpcMethods } from '../../connect/rpc-method.ts'
import { ConnectError } from '../../errors/connect-error.ts'
import type { SandboxInside, VisitedSandbox } from '../backend/sandbox.ts'
import { entryInfo } from '../entry/entry-info.ts'
import type { WatchEvent } from '../watchers/polling-watchers.ts'
import { ListDirRequest, MoveRequest, PathRequest, WatcherRequest, WatchRequest } from './filesystem-messages.ts'
import { watchEvents, watchKeepalive } from './watch-events.ts'

/** The deepest level of a list. Deeper requests get this one. */
const maxDepth = 64

type Call = RpcCall<VisitedSandbox>
type WatchAsked = z.output<typeof WatchRequest>

const make = new MethodMaker<VisitedSandbox>()

/** The methods of the service `filesystem.Filesystem`. */
export const filesystemMethods: RpcMethods<VisitedSandbox> = {
  '/filesystem.Filesystem/Stat': make.unary(PathRequest, async ({ path }, { context, user, signal }) => {
    const { files } = await context.open()
    return { entry: entryInfo(await files.stat({ account: user, path }, signal)) }
  }),
  '/filesystem.Filesystem/MakeDir': make.unary(PathRequest, async ({ path }, { context, user, signal }) => {
    const { files } = await context.open()
    const { isNew, facts } = await files.makeDirectory({ account: user, path }, signal)
    if (!isNew) throw new ConnectError('already_exists', `directory already exists: '${facts.path}'`)
    return { entry: entryInfo(facts) }
  }),
  '/filesystem.Filesystem/Move': make.unary(MoveRequest, async (request, { context, user, signal }) => {
    const { files } = await context.open()
    return { entry: entryInfo(await files.rename({ account: user, ...request }, signal)) }
  }),
  '/filesystem.Filesystem/ListDir': make.unary(ListDirRequest, async ({ path, depth }, { context, user, signal }) => {
    const { files } = await context.open()
    const entries = await files.list({ account: user, path }, Math.min(depth === 0 ? 1 : depth, maxDepth), signal)
    return { entries: entries.map(entryInfo) }
  }),
  '/filesystem.Filesystem/Remove': make.unary(PathRequest, async ({ path }, { context, user, signal }) => {
    const { files } = await context.open()
    await files.remove({ account: user, path }, signal)
    return {}
  }),
  '/filesystem.Filesystem/WatchDir': make.serverStream(WatchRequest, { keepalive: watchKeepalive }, watchDirectory),
  '/filesystem.Filesystem/CreateWatcher': make.unary(WatchRequest, async (request, { context, user }) => {
    const { sandboxId, watchers } = context
    const inside = await context.open()
    return { watcherId: await watchers.create(sandboxId, (signal) => openWatch(inside, { request, user, signal })) }
  }),
  '/filesystem.Filesystem/GetWatcherEvents': make.unary(WatcherRequest, async ({ watcherId }, { context }) => {
    await context.open()
    return { events: context.watchers.take(context.sandboxId, watcherId) }
  }),
  '/filesystem.Filesystem/RemoveWatcher': make.unary(WatcherRequest, async ({ watcherId }, { context }) => {
    await context.open()
    context.watchers.remove(context.sandboxId, watcherId)
    return {}
  }),
}

async function* watchDirectory(request: WatchAsked, { context, user, signal }: Call): AsyncGenerator<object> {
  const events = await openWatch(await context.open(), { request, user, signal })
  yield { start: {} }
  for await (const event of events) yield { filesystem: event }
}

async function openWatch(
  { files, watches }: SandboxInside,
  {
    request,
    user: account,
    signal,
  }: { readonly request: WatchAsked; readonly user: string | null; readonly signal: AbortSignal },
): Promise<AsyncIterable<WatchEvent>> {
  const { path: asked, recursive, includeEntry } = request
  const { path: root, changes } = await watches.watch({ account, path: asked, recursive }, signal)
  const stat = async (path: string) => {
    try {
      return await files.stat({ account, path }, signal)
    } catch (error) {
      // The file may be gone by now, of which another event tells.
      if (error instanceof ConnectError && error.code === 'not_found') return null
      throw error
    }
  }
  return watchEvents({ root, includeEntry }, changes, stat)
}
