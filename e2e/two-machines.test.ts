import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { testLength } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasPostgres } from '../packages/server/test/support/postgres-cluster.ts'
import { type DocBlock, docPages } from './support/doc-blocks.ts'
import { service } from './support/facts.ts'
import {
  endMachines,
  idOf,
  installBalancer,
  installDatabase,
  installKeys,
  powerOff,
} from './support/fleet/doc-fleet.ts'
import { DocMachine } from './support/fleet/doc-machine.ts'
import { FleetNetwork, type Place } from './support/fleet/fleet-network.ts'
import { nodeBinary, repository } from './support/service-process.ts'
import { takeTemplates } from './support/take-templates.ts'
import { until } from './support/until.ts'

// Every command of docs/two-machines.md, as printed, each on the machine that the page says.

/** The machines of the page, with their addresses. */
const machines = [
  ['database', 'database', '10.0.0.10'],
  ['first', 'host-1', '10.0.0.11'],
  ['second', 'host-2', '10.0.0.12'],
  ['balancer', 'balancer', '10.0.0.13'],
] as const satisfies readonly (readonly [string, Place, string])[]

type MachineName = (typeof machines)[number][0]

/** The output of some commands, as the page says. */
const told: readonly (readonly [string, RegExp])[] = [
  ['holt exec notes -- cat notes.txt', /^kept$/m],
  ['tail -n 3 ticks', /cordoned[\s\S]*(?:^.*\d\d:\d\d:\d\d.*$\n){3}/m],
  ['# exits with 1', /has been silent for \d+ s\.[\s\S]*^here$/m],
  ['holt host lost', /^rt\w+ +asleep +running/m],
  ['https://holt.example.com', /^rt\w+ +asleep +running/m],
]

const page = docPages().find(({ name }) => name === 'docs/two-machines.md')?.blocks ?? []

const canRun = hasPostgres() && service.unavailable.gvisor === null && testLength() !== 'short'

describe.skipIf(!canRun)('the commands of docs/two-machines.md run as printed', () => {
  const undo = new AsyncDisposableStack()
  const made = {} as Record<MachineName, DocMachine>
  let network: FleetNetwork
  beforeAll(async () => {
    const dir = await mkdtemp(join(repository, '.holt', 'e2e-machines-'))
    undo.defer(() => rm(dir, { recursive: true, force: true }))
    network = undo.use(await FleetNetwork.of(new Map(machines.map(([, place, address]) => [place, address]))))
    const [bin, shared] = [join(dir, 'bin'), join(dir, 'shared')]
    for (const path of [bin, shared]) await mkdir(path, { mode: 0o755 })
    await symlink(join(repository, 'packages', 'cli', 'bin', 'holt'), join(bin, 'holt'))
    await symlink(nodeBinary(), join(bin, 'node'))
    for (const [name, place] of machines) {
      const parts = { place, network, name, dir: join(dir, name), shared, path: [bin] }
      made[name] = undo.use(await DocMachine.start(parts))
    }
    undo.defer(() => endMachines(made.first, made.second))
    await installDatabase(made.database)
    await installKeys(made.first, made.second)
    // The machine has a service already, with a runtime that stays.
    await made.first.run(`mkdir -m 700 /var/lib/holt; ${takeTemplates(made.first.stateDir, join(dir, 'store.jsonl'))}`)
    await made.first.run('holt up; holt create -n before; holt exec before -- sh -c "echo before >kept"')
  }, 600_000)
  afterAll(() => undo.disposeAsync(), 600_000)

  /** Runs a block, with an id for HOST and a key for the dots. Returns its output. */
  async function run(block: DocBlock, name: MachineName): Promise<string> {
    const id = () => idOf(block.commands.includes('host lost') ? made.second : made.first)
    const key = block.commands.includes('=...') ? await made.first.run('holt key create page 2>/dev/null') : ''
    const commands = block.commands
      .replaceAll(/\bHOST\b/g, id)
      .replace('=...', `=${key.trim()}`)
      .replaceAll(/^(.*?) +# exits with (\d+).*$/gm, 'code=0; $1 || code=$?; [ $code = $2 ]')
    return made[name].run(commands).catch((cause: unknown) => {
      throw new Error(`${block.place} does not run as it is written:\n${block.commands}`, { cause })
    })
  }

  it('in order', { timeout: 1_800_000 }, async () => {
    const seen: string[] = []
    for (const block of page) {
      const { commands, machine } = block
      if (commands.includes('# exits with 1')) {
        await until('asleep is stored', async () => !(await isOnlyThere(made.second)), 120_000)
        await powerOff(made.second, network)
        const isSilent = async () => (await made.first.attempt('holt fleet status')).code === 1
        await until('the first machine hears nothing of the second one', isSilent, 120_000)
      }
      if (commands.includes('tail -n 3 ticks')) await until('the first machine is empty', isEmpty, 240_000)
      if (seen.at(-1)?.startsWith('holt host lost')) await switchOn(seen)
      if (commands.includes('haproxy')) await installBalancer(made.balancer)
      const names = machine === 'both' ? (['first', 'second'] as const) : ([machine] as MachineName[])
      for (const name of names) {
        expect(Object.keys(made), block.place).toContain(name)
        const output = await run(block, name)
        console.log(`${block.place} on ${name}\n${output}`)
        for (const [part, expected] of told) if (commands.includes(part)) expect(output, block.place).toMatch(expected)
      }
      seen.push(commands)
    }
    expect(await made.first.run('holt exec before -- cat kept')).toBe('before\n')
  })

  const isEmpty = async () => /^\S+ +first +cordoned /m.test(await made.second.run('holt fleet status'))

  /** Tells if a paused runtime needs a machine. */
  async function isOnlyThere(machine: DocMachine): Promise<boolean> {
    const sql = `SELECT count(*) FROM runtimes WHERE name = 'asleep' AND host_id = '${idOf(machine)}'`
    return (await made.database.run(`runuser -u postgres -- psql -Atc "${sql}" holt`)).trim() !== '0'
  }

  /** Switches the second machine on, and sets the variables of its shell as the page did before. */
  async function switchOn(seen: readonly string[]): Promise<void> {
    await network.plug('host-2')
    await made.second.forgetVariables()
    const lines = seen.find((commands) => commands.includes('HOLT_HOST=10.0.0.12'))?.split('\n') ?? []
    await made.second.run(lines.filter((line) => line.startsWith('export ')).join('\n'))
  }
})
