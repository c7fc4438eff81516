import { type Runtime as RuntimeData, runtimeStates } from '@holt/protocol'
import type { Runtime } from '@holt/sdk'
import { z } from 'zod'
import { jsonResult, linesResult, moreWith, textResult } from '../results/results.ts'
import { readsOnly, runtimeTool, serviceTool, type Tool } from './tool.ts'

/** The maximum number of runtimes of one list. */
const maxListed = 100

const size = z
  .union([z.number().positive(), z.string().min(1).max(32)])
  .describe('GiB as a number, or a string with a unit: "512MiB". Default: that of the template.')

const create = serviceTool({
  name: 'create_runtime',
  title: 'Create a runtime',
  description:
    'Creates a runtime: an isolated Linux machine with its own files and processes. Commands start in its working directory, usually /workspace. It has no network unless network_policy is given. Delete it when its work is done.',
  routes: ['createRuntime'],
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  fields: {
    template: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('The template, by name or id: see list_templates. Default base-small, which has Python and Node.'),
    snapshot: z.string().min(1).max(63).optional().describe('A snapshot, by name or id, in place of a template.'),
    name: z.string().min(1).max(63).optional().describe('A name, unique among the runtimes that have not ended.'),
    cpu: z.number().min(0.1).max(256).optional().describe('vCPUs. Default: those of the template.'),
    memory: size.optional(),
    disk: size.optional(),
    isolation: z.enum(['gvisor', 'container']).optional().describe('The class of isolation. Default gvisor.'),
    env: z.record(z.string(), z.string()).optional().describe('Environment variables of every command.'),
    timeout_secs: z
      .number()
      .int()
      .min(1)
      .max(2_592_000)
      .optional()
      .describe('The lifetime in seconds. Then the runtime is paused, and the next use resumes it. Default 3600.'),
    network_policy: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe('A stored network policy, by name or id. Default: no network.'),
    secrets: z
      .array(z.string().min(1).max(63))
      .max(32)
      .optional()
      .describe('Names of stored secrets. The environment has their placeholders, never their values.'),
  },
  run: async (args, { session, signal, tellProgress }) => {
    const onStatus = ({ name, status }: { name: string; status: string }) =>
      tellProgress(`The template ${name} is built first: ${status}`)
    return jsonResult(shown(await session.holt.runtimes.create(args, { signal, building: { onStatus } })))
  },
})

const list = serviceTool({
  name: 'list_runtimes',
  title: 'List runtimes',
  description: 'Lists runtimes, newest first, one JSON object per line. Ended runtimes are included for 7 days.',
  routes: ['listRuntimes'],
  annotations: readsOnly,
  fields: {
    state: z.enum(runtimeStates).optional().describe('Only runtimes in this state.'),
    name: z.string().min(1).max(63).optional().describe('Only the runtime with this name.'),
    cursor: z.string().max(1024).optional().describe('The cursor that an earlier list ended with.'),
  },
  run: async ({ cursor, ...filter }, { session, signal }) => {
    const runtimes = session.holt.runtimes.list({ ...filter, limit: maxListed }, { signal })
    const { data, next_cursor } = await runtimes.page(cursor)
    if (data.length === 0) return textResult('There is no such runtime.')
    return linesResult(data.map(shown), next_cursor === null ? '' : moreWith(next_cursor))
  },
})

const remove = runtimeTool({
  name: 'delete_runtime',
  title: 'Delete a runtime',
  description: 'Deletes a runtime with its processes and files. Snapshots and forks of it stay.',
  routes: ['getRuntime', 'deleteRuntime'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  fields: {},
  run: async (_args, { runtime, signal }) => {
    await runtime.delete({ signal })
    return textResult(`Deleted ${runtime.runtime_id}.`)
  },
})

const resume = runtimeTool({
  name: 'resume_runtime',
  title: 'Resume a runtime',
  description:
    'Resumes a paused runtime with its processes, memory and files. Other tools resume it by themselves, unless it was created with auto_resume false.',
  routes: ['getRuntime', 'resumeRuntime'],
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  fields: {},
  run: async (_args, { runtime, signal }) => {
    await runtime.resume({ signal })
    return jsonResult(shown(runtime))
  },
})

const recordFiles = (effect: string) =>
  z.boolean().optional().describe(`True: ${effect}. It takes time in proportion to the number of files. Default false.`)

const snapshot = runtimeTool({
  name: 'snapshot_runtime',
  title: 'Take a snapshot',
  description:
    'Takes a snapshot of a runtime, which continues. create_runtime makes runtimes from it with the argument snapshot.',
  routes: ['getRuntime', 'createSnapshot'],
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  fields: {
    name: z.string().min(1).max(63).optional().describe('A name for the snapshot, unique in the project.'),
    kind: z
      .enum(['memory', 'filesystem'])
      .optional()
      .describe('memory: processes, memory and files. filesystem: files only. Default: memory if possible.'),
    record_files: recordFiles('diff_files can compare with this memory snapshot'),
  },
  run: async (args, { runtime, signal }) => {
    const { snapshot_id, name, kind, record_files, state, size_bytes } = await runtime.snapshot(args, { signal })
    return jsonResult({ snapshot_id, name, kind, record_files, state, size_bytes })
  },
})

const fork = runtimeTool({
  name: 'fork_runtime',
  title: 'Fork a runtime',
  description:
    'Makes copies of a runtime as it is now, with processes, memory and files. The runtime continues. Use it to try several changes from one state.',
  routes: ['getRuntime', 'forkRuntime'],
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  fields: {
    count: z.number().int().min(1).max(100).default(1).describe('The number of copies. Default 1.'),
    record_files: recordFiles('diff_files compares a copy with the fork and not with the image'),
  },
  run: async (args, { runtime, signal }) => {
    const { results } = await runtime.fork(args, { signal })
    const items = results.map((one) =>
      one.runtime === null ? { error: one.error.message, code: one.error.code } : shown(one.runtime),
    )
    return { ...linesResult(items), isError: results.every((one) => one.runtime === null) }
  },
})

/** The tools of runtimes. A bound session can use no others, and does not delete its own. */
export const runtimeTools: readonly Tool[] = [
  create,
  list,
  { ...remove, forBound: false },
  resume,
  snapshot,
  { ...fork, forBound: false },
]

/** Returns the facts of a runtime that a model needs. */
function shown(runtime: Runtime | RuntimeData) {
  const { runtime_id, name, state, state_reason, template, isolation, cpu, memory_mib, disk_mib, expires_at } = runtime
  return {
    runtime_id,
    name,
    state,
    ...(state_reason === null ? {} : { state_reason }),
    template: template.name,
    isolation,
    cpu,
    memory_mib,
    disk_mib,
    network: runtime.network_policy !== null,
    expires_at,
  }
}
