import { Readable } from 'node:stream'

/**
 * Returns a stream of a generator's items. It can be destroyed at once, even while the generator
 * waits.
 */
export function readableOf(parts: AsyncGenerator<Buffer>): Readable {
  return new Readable({
    read() {
      parts.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error) => this.destroy(error),
      )
    },
  })
}

/** Returns an item as a line of NDJSON. */
export function line(item: object): Buffer {
  return Buffer.from(`${JSON.stringify(item)}\n`)
}
