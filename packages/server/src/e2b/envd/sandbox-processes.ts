import type { Processes, ProcessInfo, ProcessStart, StartedProcess } from '@holt/e2b'
import { ConnectError } from '@holt/e2b'
import type { GuestProcess, StartProcess } from '@holt/guest-client'
import { HoltError, makeId } from '@holt/protocol'
import { within } from '../../foundation/wire/call.ts'
import { followOutput } from '../../inside/commands/follow-output.ts'
import { answerTimeoutMs } from '../../inside/files/guest-timeouts.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import { foundProcess } from './found-process.ts'
import type { InsideVisit } from './inside-visit.ts'
import { processItems } from './process-items.ts'

/** Returns the processes of a runtime. The daemon keeps nothing of them: the guest does. */
export function sandboxProcesses(inside: InsideVisit): Processes {
  const { guest } = inside
  return {
    start: (request, signal) => start(inside, request, signal),
    find: async (name, signal) => {
      const wanted = 'pid' in name ? name : { label: name.tag }
      const found = await inside.ask('', guest.processes.find(wanted, within({ gone: signal }, answerTimeoutMs)))
      return found === null ? null : foundProcess(inside, found)
    },
    list: async (signal) => {
      const all = await inside.ask('', guest.processes.list(within({ gone: signal }, answerTimeoutMs)))
      return all.filter(({ state }) => state === 'running').map(infoOf)
    },
  }
}

function infoOf({ pid, argv, command, cwd, label }: GuestProcess): ProcessInfo {
  return { pid, argv: argv ?? ['/bin/sh', '-c', command ?? ''], cwd, tag: label ?? null }
}

async function start(inside: InsideVisit, request: ProcessStart, signal: AbortSignal): Promise<StartedProcess> {
  const { guest, visit } = inside
  const account = inside.accountOf(request.account)
  const asked = processOf(inside, request, account)
  visit.service.metrics.work.noteCommand('streamed')
  const begun = await inside.ask(account, guest.processes.run(asked, signal).catch(explainStart))
  const streamRetry = new StreamRetry(visit.service, { ref: visit.ref, signal })
  const followed = { guest, commandId: asked.id, cursor: 0, hold: true, hasStart: true, begun }
  const items = followOutput(followed, streamRetry, signal)
  const first = await inside.ask(account, items.next())
  if (first.done === true || first.value.type !== 'start')
    throw new ConnectError('internal', 'The process began without its PID.')
  return { pid: first.value.pid, items: processItems(items) }
}

/** Explains a program or directory that the account may not use: the caller named it. */
function explainStart(error: unknown): never {
  if (error instanceof HoltError && error.code === 'path_permission_denied')
    throw new ConnectError('invalid_argument', error.message, { cause: error })
  throw error
}

function processOf(
  inside: InsideVisit,
  { argv, env, cwd, terminal, hasStdin, tag, timeoutMs }: ProcessStart,
  account: string,
): StartProcess {
  return {
    id: makeId('command'),
    command: null,
    argv,
    cwd: inside.pathOf(cwd),
    home_of: account,
    env,
    user: account,
    stdin: hasStdin ? 'pipe' : 'none',
    stdin_data: null,
    timeout_ms: timeoutMs ?? 0,
    ring_bytes: null,
    pty: terminal,
    await_reader: false,
    // A runtime of E2B's clients has no idle time that a process could hold up.
    background: true,
    ...(tag === null ? {} : { label: tag }),
  }
}
