import { Command, CommandResult } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { success } from '../e2e/support/api.ts'
import { service } from '../e2e/support/facts.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { until } from '../e2e/support/until.ts'
import { attackOf } from './support/attacker/attacks.ts'
import { clients } from './support/attacker/clients.ts'
import { storms } from './support/attacker/storms.ts'
import { strangers } from './support/attacker/strangers.ts'
import type { Target } from './support/attacker/target.ts'
import { Chance } from './support/chance.ts'
import { every, short } from './support/length.ts'
import { OwnProject } from './support/own-project.ts'
import { proveAttacked } from './support/prove-attacked.ts'
import { runAttacker } from './support/run-attacker.ts'
import { withstand } from './support/withstand.ts'

/** The least milliseconds for which each attack lasts. */
const leastMs = short(3_000, 20_000)

/** Memory in MiB that all bodies, windows and buffers may take together. */
const growthMiB = 256

const port = 8099
let bystander: TestRuntime
let attacker: OwnProject
let target: Target
beforeAll(async () => {
  bystander = await createRuntime()
  attacker = await OwnProject.make('attacker')
  const start = async (json: object) =>
    success(await attacker.call('POST', '/commands', { json: { ...json, background: true } }), 201, Command).command_id
  const large = { command: 'head -c 64M /dev/zero > /tmp/large' }
  success(await attacker.call('POST', '/commands', { json: large }), 200, CommandResult)
  await start({ command: `python -m http.server ${port} --bind 127.0.0.1`, cwd: '/srv' })
  const flood = 'stty -echo; while :; do seq 1000; sleep 0.1; done'
  const commandId = await start({ command: flood, pty: { cols: 80, rows: 24 } })
  const answers = async () => (await attacker.call('GET', `/ports/${port}/proxy/`)).status === 200
  await until('the program answers', answers)
  target = {
    port: service.port,
    key: attacker.key,
    runtimePath: attacker.runtimePath,
    commandPath: `${attacker.runtimePath}/commands/${commandId}`,
    largeFile: '/tmp/large',
    proxyPath: `${attacker.runtimePath}/ports/${port}/proxy`,
  }
})
afterAll(() => attacker?.[Symbol.asyncDispose]())

const chance = new Chance()

/** Returns the names of all attacks, or of some in a short run. */
function attacks(all: object, some: number): readonly string[] {
  return every ? Object.keys(all) : chance.some(Object.keys(all), some)
}

describe.each([
  ['without a key', attacks(strangers, 1)],
  ['with a key', attacks(clients, 1)],
  ['by the hundred', attacks(storms, 1)],
] as const)('%s', (_, names) => {
  it.each(names)(
    '%s',
    async (name) => {
      const conditions = { name, bystander, growthMiB }
      const tally = await withstand(conditions, (enough) => runAttacker(name, { target, leastMs, enough }))
      proveAttacked(attackOf(name).evidence, tally)
    },
    leastMs + 210_000,
  )
})

it.each([
  ['its key', { key: 'holt_none' }],
  ['its path', { runtimePath: '/v1/agents/runtime/rtnone', commandPath: '/v1/agents/runtime/rtnone/commands/cmnone' }],
])('an attack that is refused for %s does not count', async (_, wrong) => {
  for (const name of ['uploads that stop', 'downloads that nobody reads', 'frames as fast as they go']) {
    const enough = Promise.resolve()
    const tally = await runAttacker(name, { target: { ...target, ...wrong }, leastMs: 1_000, enough })
    expect(() => proveAttacked(attackOf(name).evidence, tally), JSON.stringify(tally)).toThrow()
  }
})
