import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandResult, RuntimeNetwork, TestedNetwork } from '@holt/protocol'
import { Git } from '../../src/git/git.ts'
import type { GitNetwork, GitRunner } from '../../src/git/git-commands.ts'

/** Git on this machine, in a directory of its own. */
export interface LocalGit extends AsyncDisposable {
  readonly git: Git
  readonly directory: string
  /** The commands of the client so far. */
  readonly ran: readonly (readonly string[])[]
  /** Runs a shell in the directory, and returns its output. */
  sh(script: string): Promise<string>
}

/** The state of the network that the client is told. */
export interface ToldNetwork {
  readonly secrets?: RuntimeNetwork['secrets']
  readonly allowed?: boolean
  readonly env?: Readonly<Record<string, string>>
}

/** Makes a directory, and the client of git over programs of this machine. */
export async function openLocalGit({ secrets = [], allowed = true, env = {} }: ToldNetwork = {}): Promise<LocalGit> {
  const directory = await mkdtemp(join(tmpdir(), 'holt-git-'))
  const settings = { PATH: process.env.PATH, HOME: directory, GIT_CONFIG_NOSYSTEM: '1', ...env }
  const ran: (readonly string[])[] = []
  const runIn: GitRunner['run'] = (argv, options) =>
    new Promise((resolve) => {
      const [program = '', ...args] = argv
      const cwd = join(directory, options.cwd ?? '.')
      const limits = { timeout: 60_000, maxBuffer: 2 ** 26, env: { ...settings, ...options.env } }
      execFile(program, args, { cwd, ...limits }, (error, stdout, stderr) => {
        // Output arrives in pieces, which end anywhere.
        for (let at = 0; at < stderr.length; at += 7) options.onStderr?.(stderr.slice(at, at + 7))
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 127
        const most = options.max_output_bytes ?? 2 ** 20
        const truncated = { stdout: Buffer.byteLength(stdout) > most, stderr: false }
        const kept = Buffer.from(stdout).subarray(0, most).toString()
        resolve({ exit_code: code, stdout: kept, stderr, timed_out: false, truncated } as CommandResult)
      })
    })
  const network: GitNetwork = {
    get: async () => ({ runtime_id: 'runtime', secrets }) as unknown as RuntimeNetwork,
    test: async () => ({ allowed, rule: allowed ? 'all' : 'no_rule' }) as TestedNetwork,
  }
  return {
    git: new Git(
      {
        run: (argv, options) => {
          ran.push(argv)
          return runIn(argv, options)
        },
      },
      network,
    ),
    directory,
    ran,
    sh: async (script) => {
      const { exit_code, stdout, stderr } = await runIn(['/bin/sh', '-ec', script], { env: {} })
      if (exit_code !== 0) throw new Error(`${script}: ${stderr}`)
      return stdout
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}
