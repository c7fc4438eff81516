import type { Duplex } from 'node:stream'
import type { Egress, Engine } from '@holt/engine'
import { makeId } from '@holt/protocol'
import { expect } from 'vitest'
import { kindOf, type Steps } from './steps.ts'

/** The conformance tests of `Egress`. */
export const egressTests = {
  'hands what a guest dials to the last who opened its egress': async ({ engine, subject, spec, signal }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    const egress = egressOf(engine)
    await expect(dialed(subject, engine, wanted.id)).rejects.toThrow()
    const first = acceptor()
    await egress.open(wanted.id, first.accept)
    const kept = await dialed(subject, engine, wanted.id)
    await echo(kept, await first.next())
    const second = acceptor()
    await egress.open(wanted.id, second.accept)
    await echo(await dialed(subject, engine, wanted.id), await second.next())
    const ended = new Promise((resolve) => kept.once('close', resolve))
    await egress.close(wanted.id)
    await egress.close(wanted.id)
    await ended
    await expect(dialed(subject, engine, wanted.id)).rejects.toThrow()
  },
  'opens no egress of a runtime that is not there': async ({ engine, signal }) => {
    const egress = egressOf(engine)
    const nobody = makeId('runtime')
    expect(await kindOf(egress.open(nobody, (connection) => connection.destroy()))).toBe('not_found')
    expect(await kindOf(egress.prepareTun(nobody, signal()))).toBe('not_found')
    await egress.close(nobody)
  },
  'closes the egress of a runtime that is removed': async ({ engine, subject, spec, signal }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    const { accept, next } = acceptor()
    await egressOf(engine).open(wanted.id, accept)
    const connection = await dialed(subject, engine, wanted.id)
    const accepted = await next()
    const ended = Promise.all([connection, accepted].map((end) => new Promise((resolve) => end.once('close', resolve))))
    await engine.remove(wanted.id, signal())
    await ended
    await expect(dialed(subject, engine, wanted.id)).rejects.toThrow()
  },
  'listens to no egress after a restart until it is opened again': async ({
    engine,
    subject,
    spec,
    signal,
    reopen,
  }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    await egressOf(engine).open(wanted.id, acceptor().accept)
    await engine.close()
    const next = await reopen()
    await expect(dialed(subject, next, wanted.id)).rejects.toThrow()
    const again = acceptor()
    await egressOf(next).open(wanted.id, again.accept)
    await echo(await dialed(subject, next, wanted.id), await again.next())
  },
  'says how a guest gets its tun device, each time it is asked': async ({ engine, subject, spec, signal }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    const expected = subject.isolation === 'gvisor' ? 'create' : 'socket'
    expect(await egressOf(engine).prepareTun(wanted.id, signal())).toBe(expected)
    expect(await egressOf(engine).prepareTun(wanted.id, signal())).toBe(expected)
  },
} satisfies Record<string, (steps: Steps) => Promise<void>>

function egressOf(engine: Engine): Egress {
  const egress = engine.ability('egress')
  if (egress === null) throw new Error('the engine has no egress')
  return egress
}

async function dialed(subject: Steps['subject'], engine: Engine, id: string): Promise<Duplex> {
  const connection = await subject.dialEgress(engine, id)
  connection.on('error', () => {
    // A cut connection may end with a reset.
  })
  return connection
}

/** Takes connections and hands them out in order. */
function acceptor() {
  const taken: Duplex[] = []
  let wake = () => {}
  return {
    accept: (connection: Duplex) => {
      taken.push(connection)
      connection.on('error', () => {
        // A cut connection may end with a reset.
      })
      // The `end` event needs a reader.
      connection.on('end', () => connection.destroy())
      wake()
    },
    next: async (): Promise<Duplex> => {
      for (;;) {
        const connection = taken.shift()
        if (connection !== undefined) return connection
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}

/** Sends a few bytes each way. */
async function echo(guest: Duplex, host: Duplex): Promise<void> {
  const received = async (end: Duplex) =>
    new Promise<string>((resolve) => end.once('data', (part: Buffer) => resolve(part.toString())))
  guest.write('out')
  expect(await received(host)).toBe('out')
  host.write('in')
  expect(await received(guest)).toBe('in')
}
