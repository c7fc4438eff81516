import type { GitStatus, GitStatusEntry } from '@holt/sdk'
import { z } from 'zod'
import { Excerpt } from '../results/excerpt.ts'
import { grouped, jsonResult, oneLine, textResult } from '../results/results.ts'
import { readsOnly, runtimeTool, type TellProgress, type Tool } from './tool.ts'

/** The routes of every tool of Git, which runs the program in the runtime. */
const gitRoutes = ['getRuntime', 'startCommand', 'killCommand'] as const
/** The routes of a tool that reaches a remote: a failure is explained by the network policy. */
const remoteRoutes = [...gitRoutes, 'getNetwork', 'testNetwork'] as const

/** The part of a patch that a result has. */
const patchSize = { headBytes: 24 * 1024, tailBytes: 8 * 1024 }

/** The maximum number of bytes of a patch that are read. */
const maxPatchBytes = 4 * 1024 * 1024

/** The time between two reports of progress, in milliseconds. */
const progressMs = 500

/** The maximum number of files of a status. */
const maxFiles = 200

const name = z.string().min(1).max(1024)
const path = z
  .string()
  .min(1)
  .max(4096)
  .startsWith('/')
  .describe('The absolute path of a directory of the repository, such as /workspace/project.')
const paths = z.array(z.string().min(1).max(4096)).max(500)
const credentials = {
  secret: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('A secret of the runtime with a token for the host. The token stays outside. Default: none.'),
  username: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('The user name that is sent with the token. Default x-access-token, which most hosts accept.'),
} as const

const clone = runtimeTool({
  name: 'git_clone',
  title: 'Clone a repository',
  description:
    'Clones a Git repository over https. The network policy of the runtime must allow the host, and a private repository needs a secret. An error names the missing one.',
  routes: remoteRoutes,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  fields: {
    url: z.string().min(1).max(4096).describe('The address, such as https://github.com/team/project.git.'),
    path: path.optional().describe('The absolute path of the new directory. Default: the name of the repository.'),
    branch: name.optional().describe('The branch or tag to check out. Default: that of the remote.'),
    depth: z.number().int().min(1).optional().describe('The number of newest commits to fetch. Default: all.'),
    ...credentials,
  },
  run: async ({ url, ...options }, { runtime, signal, tellProgress }) =>
    jsonResult(await runtime.git.clone(url, { ...options, signal, onProgress: tellLine(tellProgress) })),
})

const status = runtimeTool({
  name: 'git_status',
  title: 'Show the state of a repository',
  description:
    'Returns branch, commit and upstream, then one line per changed file: its staged change, its other change, and its path.',
  routes: gitRoutes,
  annotations: readsOnly,
  fields: { path },
  run: async ({ path }, { runtime, signal }) => {
    const { truncated, ...found } = await runtime.git.status({ cwd: path, signal })
    const { entries, clean, ...facts } = found
    const shown = entries.slice(0, maxFiles).map(lineOf)
    const omitted = entries.length - shown.length
    const more = omitted > 0 || truncated ? `[${truncated ? 'At least ' : ''}${grouped(omitted)} files left out]` : ''
    return textResult(JSON.stringify({ ...facts, clean } satisfies Omit<GitStatus, 'entries'>), shown.join('\n'), more)
  },
})

const diff = runtimeTool({
  name: 'git_diff',
  title: 'Show changes',
  description:
    'Returns the difference between files, index and commits as a patch. Without arguments: the changes that are not staged. Of a long patch the beginning and the end are returned; give paths for the rest.',
  routes: gitRoutes,
  annotations: readsOnly,
  fields: {
    path,
    staged: z.boolean().default(false).describe('True: the staged changes. Default false.'),
    from: name.optional().describe('The commit to compare with, such as HEAD or main.'),
    to: name.optional().describe('The commit to compare from with. Default: the files.'),
    paths: paths.optional().describe('Only these files or directories. Default: all.'),
    context_lines: z.number().int().min(0).max(1000).optional().describe('Unchanged lines around. Default 3.'),
  },
  run: async ({ path, ...options }, { runtime, signal }) => {
    const found = await runtime.git.diff({ ...options, cwd: path, max_output_bytes: maxPatchBytes, signal })
    if (found.patch === '') return textResult('Nothing differs.')
    const excerpt = new Excerpt(patchSize)
    excerpt.add(new TextEncoder().encode(found.patch), 0)
    const patch = excerpt.text(
      ({ bytes }) =>
        `[… ${grouped(bytes)} bytes of the patch left out. git_diff with paths returns those of single files …]`,
    )
    const cut = `[The patch has more than ${grouped(maxPatchBytes)} bytes, and its end is not shown. Give paths]`
    return textResult(patch, found.truncated ? cut : '')
  },
})

const commit = runtimeTool({
  name: 'git_commit',
  title: 'Commit changes',
  description: 'Commits the staged changes, and with paths or all also those of files. Returns the new commit.',
  routes: gitRoutes,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  fields: {
    path,
    message: z.string().min(1).max(65_536).describe('The message.'),
    paths: paths.optional().describe('Files or directories to stage before, relative to path.'),
    all: z.boolean().default(false).describe('True: stage every change before, also new files. Default false.'),
    allow_empty: z.boolean().default(false).describe('True: allow a commit without changes. Default false.'),
    author: z
      .strictObject({ name: z.string().min(1).max(256), email: z.string().min(1).max(256) })
      .optional()
      .describe('The author and committer. Default: the settings of git in the runtime.'),
  },
  run: async ({ path, message, ...options }, { runtime, signal }) =>
    jsonResult(await runtime.git.commit(message, { ...options, cwd: path, signal })),
})

const push = runtimeTool({
  name: 'git_push',
  title: 'Push commits',
  description:
    'Sends commits to a remote. The network policy must allow the host, and the host usually wants a secret. An error names the missing one.',
  routes: remoteRoutes,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  fields: {
    path,
    remote: name.default('origin').describe('The name of the remote. Default origin.'),
    branch: name.optional().describe('The branch, or LOCAL:REMOTE. Default: the current branch under its own name.'),
    set_upstream: z.boolean().default(false).describe('True: make it the upstream of the branch. Default false.'),
    force: z
      .boolean()
      .default(false)
      .describe('True: replace the commits of the remote if they are the last fetched ones. Default false.'),
    ...credentials,
  },
  run: async ({ path, ...options }, { runtime, signal, tellProgress }) =>
    jsonResult(await runtime.git.push({ ...options, cwd: path, signal, onProgress: tellLine(tellProgress) })),
})

/** The tools of Git. */
export const gitTools: readonly Tool[] = [clone, status, diff, commit, push]

/** Returns a listener that reports lines of git: of many lines in a phase, two a second. */
function tellLine(tellProgress: TellProgress): (line: string) => void {
  let toldAt = Number.NEGATIVE_INFINITY
  return (line) => {
    if (performance.now() - toldAt < progressMs) return
    toldAt = performance.now()
    tellProgress(line)
  }
}

function lineOf({ path, previous_path, index, worktree }: GitStatusEntry): string {
  const before = previous_path === null ? '' : `${oneLine(previous_path)} -> `
  return `${(index ?? '-').padEnd(12)} ${(worktree ?? '-').padEnd(12)} ${before}${oneLine(path)}`
}
