import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InputQueue } from '../src/terminal/input-queue.ts'

type Step =
  | { readonly do: 'write'; readonly bytes: number }
  | { readonly do: 'receive' | 'acknowledge' | 'break' | 'attach' }

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('write' as const), bytes: fc.integer({ min: 1, max: 70_000 }) }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'receive' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'acknowledge' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'break' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'attach' as const }) },
)

/** A service that counts input: the bytes of a position are typed once, over all connections. */
class CountingService {
  typed = Buffer.alloc(0)
  readonly #done = new Set<number>()
  #frames: Uint8Array[] = []
  #position = 0
  received = 0

  connect(): void {
    this.#frames = []
    this.received = 0
  }

  continueAt(position: number): void {
    this.#position = position
  }

  send(frame: Uint8Array): void {
    this.#frames.push(frame)
  }

  receive(): boolean {
    const frame = this.#frames.shift()
    if (frame === undefined) return false
    if (!this.#done.has(this.#position)) this.typed = Buffer.concat([this.typed, frame])
    this.#done.add(this.#position)
    this.#position += frame.length
    this.received += frame.length
    return true
  }
}

test('a queue types every byte once and in order, over any breaks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60 }), async (plan) => {
      const service = new CountingService()
      const queue = new InputQueue({
        type: (typed) => typed !== 'eof' && service.send(typed),
        continueAt: (position) => service.continueAt(position),
      })
      const given: Buffer[] = []
      const writes: Promise<void>[] = []
      let attached = false
      const attach = () => {
        if (attached) return
        attached = true
        service.connect()
        queue.attached(true)
        queue.start()
      }
      const acts: Record<Exclude<Step['do'], 'write'>, () => void> = {
        receive: () => attached && service.receive(),
        acknowledge: () => attached && queue.noteTaken(service.received),
        break: () => {
          attached = false
          queue.break(new Error('broken'))
        },
        attach,
      }
      for (const step of plan) {
        if (step.do !== 'write') acts[step.do]()
        else {
          const bytes = Buffer.alloc(step.bytes, String(given.length))
          given.push(bytes)
          writes.push(queue.write(new Uint8Array(bytes)))
        }
      }
      attach()
      for (let more = true; more; ) {
        more = service.receive()
        queue.noteTaken(service.received)
      }
      await Promise.all(writes)
      expect(service.typed.equals(Buffer.concat(given))).toBe(true)
    }),
  )
})
