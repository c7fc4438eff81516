import { WatchItem } from '@holt/protocol'
import { beforeAll, expect, it } from 'vitest'
import { failure } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { followItems } from './support/follow-items.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

/** An item in a line: what happened, to what. */
function lineOf(item: WatchItem): string {
  if (!('path' in item)) return item.type
  return item.type === 'moved' ? `moved ${item.from} ${item.path}` : `${item.type} ${item.path}`
}

describeClasses('a watch', (isolation) => {
  let runtime: TestRuntime
  let count = 0
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
  })

  const watch = (path: string, query = '&recursive=true') =>
    followItems(runtime, { path: `/files/watch?path=${path}${query}`, item: WatchItem })

  async function place(): Promise<string> {
    const path = `/srv/watch${count++}`
    await runtime.sh(`mkdir -p ${path}`)
    return path
  }

  /**
   * Watches, makes changes once that has begun, and answers what is told up to the item that ends
   * the wait.
   */
  async function changes(path: string, { script, last, query }: { script: string; last: string; query?: string }) {
    const seen: WatchItem[] = []
    for await (const item of watch(path, query)) {
      if (item.type === 'start') await runtime.sh(`cd ${path}; ${script}`)
      else seen.push(item)
      if (lineOf(item) === last) break
    }
    return seen
  }

  it('reports every kind of change, in order', async () => {
    const at = await place()
    // A change in a directory that is not watched yet is told by what is there afterwards.
    const made = await changes(at, {
      script: 'echo x > f; chmod 600 f; mkdir d; : > made',
      last: `created ${at}/made`,
    })
    const lines = made.map(lineOf).filter((line) => !line.startsWith('attributes') || line.endsWith('/f'))
    expect([...new Set(lines)]).toEqual([
      `created ${at}/f`,
      `modified ${at}/f`,
      `attributes ${at}/f`,
      `created ${at}/d`,
      `created ${at}/made`,
    ])
    expect(made.find((item) => lineOf(item) === `created ${at}/d`)).toMatchObject({ directory: true })
    expect(made.find((item) => lineOf(item) === `created ${at}/f`)).toMatchObject({ directory: false })
    const moved = await changes(at, {
      script: 'mv f d/g; mv d e; mv e/g /srv/out; mv /srv/out h; rm h; rmdir e; : > last',
      last: `created ${at}/last`,
    })
    expect([...new Set(moved.map(lineOf))].filter((line) => !line.startsWith('attributes'))).toEqual([
      `moved ${at}/f ${at}/d/g`,
      `moved ${at}/d ${at}/e`,
      `removed ${at}/e/g`,
      `created ${at}/h`,
      `removed ${at}/h`,
      `removed ${at}/e`,
      `created ${at}/last`,
    ])
  })

  it('misses nothing in new directories', async () => {
    const at = await place()
    const script = `for i in $(seq 30); do mkdir -p $i/a/b; for j in 1 2 3; do : > $i/a/b/$j; done; done; : > last`
    const seen = (await changes(at, { script, last: `created ${at}/last` })).map(lineOf)
    for (let i = 1; i <= 30; i++)
      for (const below of ['', '/a', '/a/b', '/a/b/1', '/a/b/2', '/a/b/3'])
        expect(seen.filter((line) => line === `created ${at}/${i}${below}`)).toHaveLength(1)
  })

  it('reports nothing below the directory if it is not recursive', async () => {
    const at = await place()
    const seen = await changes(at, { script: 'mkdir d; : > d/f; : > z', last: `created ${at}/z`, query: '' })
    expect(seen.map(lineOf).filter((line) => line.startsWith('created'))).toEqual([
      `created ${at}/d`,
      `created ${at}/z`,
    ])
  })

  it('continues at a cursor after its reader disconnects, and says when it cannot', async () => {
    const at = await place()
    let cursor = 0
    for await (const item of watch(at)) {
      cursor = item.cursor
      break
    }
    await runtime.sh(`cd ${at}; : > a; : > b`)
    const seen: string[] = []
    for await (const item of watch(at, `&recursive=true&cursor=${cursor}`)) {
      seen.push(lineOf(item))
      if (lineOf(item) === `created ${at}/b`) break
    }
    expect(seen.filter((line) => line.startsWith('created'))).toEqual([`created ${at}/a`, `created ${at}/b`])
    expect(seen).not.toContain('start')
    for await (const item of watch(at, '&recursive=true&cursor=1')) {
      expect(item.type).toBe('overflow')
      break
    }
  })

  it('reports lost changes if there were too many', async () => {
    const at = await place()
    let cursor = 0
    for await (const item of watch(at)) {
      cursor = item.cursor
      break
    }
    await runtime.python(
      `import os, sys, json
for i in range(12_000):
    path = f'{sys.argv[1]}/{i % 50}'
    open(path, 'w').close(); os.remove(path)
print(json.dumps(None))`,
      [at],
    )
    for await (const item of watch(at, `&recursive=true&cursor=${cursor}`)) if (item.type === 'overflow') break
    // It goes on: whoever looks at everything now, and reads on, misses nothing.
    for (let attempt = 0; ; attempt++) {
      expect(attempt).toBeLessThan(20)
      const seen = await changes(at, {
        script: `mkdir n${attempt}; : > n${attempt}/f`,
        last: `created ${at}/n${attempt}/f`,
      })
      if (!seen.some(({ type }) => type === 'overflow')) break
    }
  })

  it('ends when its directory is removed', async () => {
    const at = await place()
    const seen: WatchItem[] = []
    for await (const item of watch(at)) {
      seen.push(item)
      if (item.type === 'start') await runtime.sh(`mkdir -p ${at}/d/e; cd /; rm -rf ${at}`)
    }
    expect(seen.map(lineOf)).toContain(`removed ${at}`)
    expect(seen.at(-1)).toMatchObject({ type: 'end', reason: 'removed' })
  })

  it('names paths that are not UTF-8 also by their bytes', async () => {
    const at = await place()
    const seen = await changes(at, { script: `: > "$(printf 'n\\377')"; : > z`, last: `created ${at}/z` })
    expect(seen[0]).toMatchObject({
      type: 'created',
      path: `${at}/n\ufffd`,
      path_base64: Buffer.concat([Buffer.from(`${at}/n`), Buffer.from([0xff])]).toString('base64'),
    })
  })

  it('of an invalid path is an error with the reason', async () => {
    failure(await runtime.call('GET', '/files/watch', { query: { path: '/srv/none' } }), 'path_not_found')
    failure(await runtime.call('GET', '/files/watch', { query: { path: '/etc/passwd' } }), 'not_a_directory')
    failure(
      await runtime.call('GET', '/files/watch', { query: { path: '/srv', recursive: 'perhaps' } }),
      'invalid_request',
    )
  })
})
