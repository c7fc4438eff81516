import type { Egress, Engine, Isolation, RuntimeSpec } from '@holt/engine'
import { GuestClient, type GuestNetwork } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type EngineUnderTest,
  importImage,
  prepareEngine,
  processOf,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { KNOWN, PORTS, SmallGateway } from './support/small-gateway.ts'
import { missing } from './support/test-machine.ts'

const at = (port: keyof typeof PORTS) => `${KNOWN.address}:${PORTS[port]}`

for (const [isolation, runner] of [
  ['gvisor', 'runsc'],
  ['container', 'runc'],
] as const) {
  const reason = await missing('root', 'go', runner)
  describe.skipIf(reason !== null)(`the network of a ${isolation} (${reason ?? 'ready'})`, () => {
    let under: EngineUnderTest
    let subject: Subject
    beforeAll(async () => {
      under = await prepareEngine()
      subject = await start(under, isolation)
    }, VERB_TIMEOUT_MS * 2)
    afterAll(async () => {
      await subject.engine.close()
      await under[Symbol.asyncDispose]()
    }, VERB_TIMEOUT_MS)
    const says = (...step: readonly string[]) => traffic(subject.guest, ...step)

    test('is absent at first: no device, no route, no resolver', async () => {
      expect(await says('network')).toBe('lo')
      expect(await says('connect', at('echo'))).toBe('unreachable')
      expect(await says('lookup', KNOWN.name)).toContain('[] ')
    })

    test('resolves names and connects to their addresses', async () => {
      await give(subject)
      expect(await says('network')).toBe('lo tun0 nameserver 198.18.0.1;options edns0;')
      expect(await says('lookup', KNOWN.name)).toBe(`[${KNOWN.address}] ok`)
      expect(await says('echo', `${KNOWN.name}:${PORTS.echo}`)).toBe('hello ok')
      expect(subject.gateway.process).toMatch(/^{"pid":\d+,"name":"probe","uid":0}$/)
    })

    test('is refused at once if the host refuses, and for protocols other than TCP and DNS', async () => {
      expect(await says('connect', at('refused'))).toBe('refused')
      expect(await says('connect', at('broken'))).toBe('refused')
      expect(await says('connect', at('late'))).toBe('unreachable')
      expect(await says('datagram', '203.0.113.7:443')).toBe('refused')
      expect(await says('connect', '[2001:db8::1]:443')).toBe('unreachable')
    })

    // The other class gives root a device of its own kernel.
    const inContainer: typeof test | (() => void) = isolation === 'container' ? test : () => {}
    inContainer('gives root inside no power over the device', async () => {
      expect(await says('reconfigure')).toBe('not permitted')
      const status = await runCommand(subject.guest, '/bin/cat', '/proc/self/status')
      expect(status.output).toMatch(/^CapBnd:\t00000000800404fb$/m)
      expect((await runCommand(subject.guest, '/bin/cat', '/dev/net/tun')).exitCode).toBe(1)
    })

    test('keeps one half of a connection open after the other has ended', async () => {
      expect(await says('echo', at('echo'))).toBe('hello ok')
      expect(await says('late', at('bye'))).toBe('bye ok')
      await expect.poll(() => subject.gateway.afterBye, { timeout: VERB_TIMEOUT_MS }).toBe('more')
    })

    test('carries a hundred connections at once', async () => {
      expect(await says('parallel', at('echo'), '100')).toBe('map[right:100]')
    })

    test('carries bulk data', async () => {
      const line = await says('download', at('bulk'))
      process.stdout.write(`${isolation}: ${line}\n`)
      expect(line).toMatch(/^134217728 ok /)
    })

    test('resets connections when the host closes, refuses meanwhile, and then works again', async () => {
      const { engine, spec, gateway, guest } = subject
      const waiting = await startTraffic(guest, 'wait', at('wait'))
      await egressOf(engine).close(spec.id)
      expect(await waiting.end).toBe('ok\nreset')
      expect(await says('connect', at('echo'))).toBe('refused')
      expect(await says('lookup', KNOWN.name)).toContain('[] ')
      await egressOf(engine).open(spec.id, gateway.accept)
      expect(await says('echo', `${KNOWN.name}:${PORTS.echo}`)).toBe('hello ok')
      const cut = await startTraffic(guest, 'wait', at('wait'))
      gateway.cut()
      expect(await cut.end).toBe('ok\nreset')
      expect(await says('echo', at('echo'))).toBe('hello ok')
    })

    test('can be removed and added while the runtime runs', async () => {
      const waiting = await startTraffic(subject.guest, 'wait', at('wait'))
      expect(await subject.guest.setNetwork(null, timeout())).toEqual({ network: false, problems: [] })
      expect(await waiting.end).toBe('ok\nreset')
      expect(await says('network')).toBe('lo')
      expect(await says('connect', at('echo'))).toBe('unreachable')
      await give(subject)
      await give(subject)
      expect(await says('echo', `${KNOWN.name}:${PORTS.echo}`)).toBe('hello ok')
    })

    test('survives the daemon: connections fail closed, and work again with the next one', async () => {
      const waiting = await startTraffic(subject.guest, 'wait', at('wait'))
      await subject.engine.close()
      const engine = await under.open()
      subject = await adopt(subject, engine)
      await expect(waiting.end).rejects.toThrow() // its stream broke with the daemon
      expect(await says('connect', at('echo'))).toBe('refused')
      expect(await says('lookup', KNOWN.name)).toContain('[] ')
      await egressOf(engine).open(subject.spec.id, subject.gateway.accept)
      expect(await says('echo', `${KNOWN.name}:${PORTS.echo}`)).toBe('hello ok')
    })

    // The other class takes no checkpoints.
    const inGvisor: typeof test | (() => void) = isolation === 'gvisor' ? test : () => {}
    inGvisor('is closed for a checkpoint, and set up again in what is restored', async () => {
      const { engine } = subject
      const checkpoints = engine.ability('checkpoints')
      if (checkpoints === null) throw new Error('no checkpoints')
      const used = await startAnother(subject)
      expect(await traffic(used.guest, 'connect', at('echo'))).toBe('ok')
      expect(await traffic(used.guest, 'connect', at('bye'))).toBe('ok')
      expect(await traffic(used.guest, 'lookup', KNOWN.name)).toBe(`[${KNOWN.address}] ok`)
      await expect.poll(() => used.gateway.open, { timeout: VERB_TIMEOUT_MS }).toBe(0)
      // Its program shuts it down first, so it is in TIME-WAIT now.
      expect(await traffic(used.guest, 'echo', at('echo'))).toBe('hello ok')
      await used.guest.quiesce(timeout())
      await checkpoints.take(used.spec.id, 'networked', timeout())
      const spec = { ...used.spec, id: makeId('runtime'), checkpointId: 'networked' }
      await engine.ensure(spec, timeout())
      expect((await engine.inspect(spec.id))?.restored).toBe(true)
      const restored = await adopt({ ...used, spec }, engine)
      expect(await traffic(restored.guest, 'connect', at('echo'))).toBe('refused')
      await egressOf(engine).open(spec.id, restored.gateway.accept)
      expect(await traffic(restored.guest, 'echo', `${KNOWN.name}:${PORTS.echo}`)).toBe('hello ok')
      await engine.remove(spec.id, timeout())
      await checkpoints.remove('networked')
    })

    inGvisor('is there again in a runtime that goes on after it was written down', async () => {
      const { engine } = subject
      const checkpoints = engine.ability('checkpoints')
      if (checkpoints === null) throw new Error('no checkpoints')
      const used = await startAnother(subject)
      expect(await traffic(used.guest, 'echo', at('echo'))).toBe('hello ok')
      await used.guest.quiesce(timeout())
      await checkpoints.take(used.spec.id, 'goes-on', timeout(), { leaveRunning: true })
      const after = await adopt(used, engine)
      expect(await traffic(after.guest, 'echo', `${KNOWN.name}:${PORTS.echo}`)).toBe('hello ok')
      await engine.remove(used.spec.id, timeout())
      await checkpoints.remove('goes-on')
    })

    test('leaves nothing behind', async () => {
      await subject.engine.remove(subject.spec.id, timeout())
      expect(await under.leaks()).toEqual([])
    })
  })
}

interface Subject {
  readonly engine: Engine
  readonly spec: RuntimeSpec
  readonly guest: GuestClient
  readonly gateway: SmallGateway
}

async function start(under: EngineUnderTest, isolation: Isolation): Promise<Subject> {
  const engine = await under.open()
  return openRuntime(engine, smallSpec(isolation, await importImage(engine, under)))
}

async function openRuntime(engine: Engine, spec: RuntimeSpec): Promise<Subject> {
  const guest = await startGuest(engine, spec)
  const gateway = new SmallGateway()
  await egressOf(engine).open(spec.id, gateway.accept)
  return { engine, spec, guest, gateway }
}

/** A second runtime, which has a network. */
async function startAnother({ engine, spec }: Subject): Promise<Subject> {
  const another = await openRuntime(engine, { ...spec, id: makeId('runtime') })
  await give(another)
  return another
}

async function adopt({ spec, gateway }: Subject, engine: Engine): Promise<Subject> {
  return { engine, spec, gateway, guest: new GuestClient(await engine.dial(spec.id, timeout())) }
}

function egressOf(engine: Engine): Egress {
  const egress = engine.ability('egress')
  if (egress === null) throw new Error('no egress')
  return egress
}

/** Gives the runtime its network, as the server does. */
async function give({ engine, spec, guest }: Subject): Promise<void> {
  const tun = await egressOf(engine).prepareTun(spec.id, timeout())
  const network: GuestNetwork = {
    resolver: '198.18.0.1',
    address: '198.18.0.2',
    mtu: 65_000,
    tun,
    ca_certificates: [],
  }
  expect(await guest.setNetwork(network, timeout())).toEqual({ network: true, problems: [] })
}

/** Runs a step of the probe to its end. */
async function traffic(guest: GuestClient, ...step: readonly string[]): Promise<string> {
  return (await runCommand(guest, '/bin/probe', 'traffic', ...step)).output.trimEnd()
}

/**
 * Starts a step that says at first that it is connected. The promise in the answer is all it says.
 */
async function startTraffic(
  guest: GuestClient,
  ...step: readonly string[]
): Promise<{ readonly end: Promise<string> }> {
  const request = processOf(['/bin/probe', 'traffic', ...step])
  const items = await guest.processes.run(request, timeout())
  const connected = Promise.withResolvers<void>()
  const read = async () => {
    let said = ''
    for await (const item of items) {
      if (item.type !== 'stdout' && item.type !== 'stderr') continue
      said += Buffer.from(item.data, 'base64').toString()
      connected.resolve()
    }
    return said.trimEnd()
  }
  const end = read()
  end.catch(connected.reject)
  await connected.promise
  return { end }
}
