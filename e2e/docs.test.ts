import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, shareOf } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { blocksOf, docPages } from './support/doc-blocks.ts'
import { service } from './support/facts.ts'
import { nodeBinary, repository, serviceEnvironment } from './support/service-process.ts'
import { takeTemplates } from './support/take-templates.ts'

/** Much longer than the blocks of a page take. */
const pageTimeoutMs = 240_000

/** Commands that run until Ctrl-C, which comes here after three seconds. */
const endless = /^holt (?=watch |.* (?:-f|--watch|--forward) )/
/** Commands that are for a terminal. There somebody types `exit`. */
const atTerminal = /^holt shell /

const prelude = `
set -eo pipefail
interrupted() { local code=0; timeout -k 20 -s INT 3 bash -c "exec $1" || code=$?; [ $code = 124 ]; }
at_terminal() { script -qec "$1" /dev/null <<<exit; }
`

/**
 * Returns a block as a script: what a person does at the keyboard is added to the lines that need
 * it.
 */
function scriptOf(commands: string): string {
  const lines = commands.split('\n').map((line) => {
    const [command = ''] = line.split(/\s+#/, 1)
    const way = endless.test(`${command} `) ? 'interrupted' : atTerminal.test(command) ? 'at_terminal' : null
    return way === null ? line : `${way} "${command}"`
  })
  return `${prelude}${lines.join('\n')}`
}

/** Ends what is left of a group of processes. The service has a group of its own. */
function endGroup(group: number | undefined): void {
  if (group === undefined) return
  try {
    process.kill(-group, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Another installation than that of the other tests. It begins with their base template, and
 * nothing else.
 */
class Installation {
  readonly #dir: string
  readonly #env: NodeJS.ProcessEnv

  private constructor(dir: string, env: NodeJS.ProcessEnv) {
    this.#dir = dir
    this.#env = env
  }

  static async make(): Promise<Installation> {
    const dir = await mkdtemp(join(repository, '.holt', 'e2e-docs-'))
    const [state, work, home, bin] = ['state', 'work', 'home', 'bin'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
      string,
    ]
    for (const path of [state, work, home, bin]) await mkdir(path, { mode: 0o700 })
    const { HOLT_URL: _url, HOLT_API_KEY: _key, ...settings } = serviceEnvironment(await freePort())
    const env = {
      ...settings,
      HOME: home,
      PATH: `${bin}:${process.env.PATH}`,
      HOLT_STATE_DIR: state,
    }
    const made = new Installation(dir, env)
    await symlink(join(repository, 'packages', 'cli', 'bin', 'holt'), join(bin, 'holt'))
    await symlink(nodeBinary(), join(bin, 'node'))
    // Pages are read in a clone. Files that a block writes stay out of this one.
    for (const name of await readdir(repository))
      if (!name.startsWith('.')) await symlink(join(repository, name), join(work, name))
    await made.run(takeTemplates(state, join(dir, 'store.jsonl')))
    return made
  }

  /** Runs a script as somebody in a shell would; fails with what it wrote. */
  async run(script: string): Promise<string> {
    const child = spawn('bash', ['-c', script], {
      cwd: join(this.#dir, 'work'),
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: pageTimeoutMs,
      // A group of its own, so that what a block leaves in the background ends with it.
      detached: true,
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    // Not `close`: a service that the script has started is nobody's child, and has the log for its
    // words.
    const code = await new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve))
    endGroup(child.pid)
    expect(code, output).toBe(0)
    return output
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run('holt down --all')
    await rm(this.#dir, { recursive: true })
  }
}

const pages = docPages()

/**
 * The pages with commands to run. A short run has the README, which people read first, and a third
 * of the others.
 */
const [readme, ...others] = pages.filter(({ blocks }) => blocks.some(({ notRun }) => notRun === null))
if (readme === undefined) throw new Error('no page has a command to run')
const run = [readme, ...shareOf(others, 1 / 3, 'pages')]

describe.skipIf(service.unavailable.gvisor !== null)('the commands of the pages run as printed', () => {
  let installation: Installation
  beforeAll(async () => {
    installation = await Installation.make()
  }, pageTimeoutMs)
  afterAll(() => installation?.[Symbol.asyncDispose](), pageTimeoutMs)

  it.each(run)('$name', { timeout: pageTimeoutMs }, async ({ blocks }) => {
    await installation.run('holt up; holt rm --all -f')
    for (const { place, commands, notRun } of blocks) {
      if (notRun !== null) continue
      await installation.run('holt up')
      await installation.run(scriptOf(commands)).catch((cause: unknown) => {
        throw new Error(`${place} does not run as it is written:\n${commands}`, { cause })
      })
    }
  })
})

test('the blocks without a test have a reason, and are few', () => {
  const blocks = pages.flatMap((page) => page.blocks)
  const notRun = blocks.filter((block) => block.notRun !== null)
  console.log(notRun.map(({ place, notRun: reason }) => `not run: ${place}: ${reason}`).join('\n'))
  console.log(`${blocks.length - notRun.length} blocks of commands run, ${notRun.length} do not`)
  for (const { place, notRun: reason } of notRun) expect(reason, place).toMatch(/^(?:needs|runs|is) \w+/)
  for (const { place, notRun: reason } of notRun)
    for (const file of testFiles(reason)) expect(existsSync(join(repository, file)), place).toBe(true)
  // This suite has one machine.
  const elsewhere = notRun.filter(
    ({ notRun: reason }) =>
      /^needs (?:two machines|a fleet|a cluster)/.test(`${reason}`) || testFiles(reason).length > 0,
  )
  expect(notRun.length - elsewhere.length).toBeLessThan((blocks.length - elsewhere.length) / 2)
})

/** Returns the test files that run a block, as its reason names them. */
const testFiles = (reason: string | null): readonly string[] =>
  reason?.match(/(?:e2e|scripts)\/[\w./-]+\.(?:ts|sh)\b/g) ?? []

test.each(pages)('$name gives each name to one runtime', ({ blocks }) => {
  const text = blocks.map(({ commands }) => commands.replaceAll(/ #.*$/gm, '')).join('\n')
  const names = [...text.matchAll(/holt create\b[^\n;|]* -n ([\w-]+)/g)].map(([, name]) => name)
  expect(names).toEqual([...new Set(names)])
})

test('every block of commands is found, with the reason before it', () => {
  const page =
    '# T\n\n```sh\na\n```\n\n<!-- not run: needs luck, on the moon -->\n```bash\nb\nc\n```\n\n```ts\nd\n```\n```console\ne\n```\n'
  expect(blocksOf('P.md', page)).toEqual([
    { place: 'P.md:3', commands: 'a\n', notRun: null, machine: null },
    { place: 'P.md:8', commands: 'b\nc\n', notRun: 'needs luck', machine: 'moon' },
    { place: 'P.md:16', commands: 'e\n', notRun: null, machine: null },
  ])
})
