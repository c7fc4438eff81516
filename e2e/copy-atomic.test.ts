import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileInfo, pageOf } from '@holt/protocol'
import { beforeAll, expect, it } from 'vitest'
import { anyFailure, failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { daemonPid, initOf, processesOf } from './support/host.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// Reads in a loop until /srv/stop is there and counts what it saw: each distinct content, and how
// often nothing was there.
const fileReader = `
import collections, json, os
seen = collections.Counter()
while not os.path.exists('/srv/stop'):
    try:
        with open('/srv/d', 'rb') as file: content = file.read()
        seen[chr(content[0]) + str(len(content)) if content.count(content[:1]) == len(content) else 'mixed'] += 1
    except FileNotFoundError: seen['absent'] += 1
print(json.dumps(seen))`

// Many small files: from the first argument's number to the second's.
const manyFiles = `
import os, sys
os.makedirs('/srv/s', exist_ok=True)
for n in range(int(sys.argv[1]), int(sys.argv[2])):
    with open(f'/srv/s/{n}', 'w') as file: file.write(f'{n}\\n' * 100)`

// A reading counts only if the directory was still in place afterwards. A replaced directory is
// being removed.
const treeReader = `
import collections, json, os
seen = collections.Counter()
while not os.path.exists('/srv/stop'):
    try:
        fd = os.open('/srv/d', os.O_DIRECTORY)
        names = sorted(os.listdir(fd))
        in_place = os.path.samestat(os.fstat(fd), os.stat('/srv/d'))
        os.close(fd)
    except FileNotFoundError:
        seen['absent'] += 1
        continue
    if in_place: seen[f'{names[0][0]}{len(names)}' if names and len({name[0] for name in names}) == 1 else f'mixed {len(names)}'] += 1
print(json.dumps(seen))`

describeClasses('while a copy is made', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
  })

  /** Copies /srv/a and /srv/b in turn onto /srv/d while `reader` runs, and answers what it saw. */
  async function observe(reader: string): Promise<Readonly<Record<string, number>>> {
    await runtime.copied({ source: '/srv/a', destination: '/srv/d', recursive: true, overwrite: true })
    const reading = runtime.python<Record<string, number>>(reader)
    try {
      for (let turn = 0; turn < 20; turn++) {
        await runtime.copied({
          source: turn % 2 === 0 ? '/srv/b' : '/srv/a',
          destination: '/srv/d',
          recursive: true,
          overwrite: true,
        })
      }
    } finally {
      await runtime.sh('touch /srv/stop')
    }
    return reading
  }

  it('readers of a file see the old or the new content', async () => {
    await runtime.sh(
      "rm -rf /srv/*; head -c 3000000 /dev/zero | tr '\\0' a > /srv/a; head -c 5000000 /dev/zero | tr '\\0' b > /srv/b",
    )
    const seen = await observe(fileReader)
    expect(Object.keys(seen).filter((what) => what !== 'a3000000' && what !== 'b5000000')).toEqual([])
    expect(Object.values(seen).reduce((sum, times) => sum + times, 0)).toBeGreaterThan(10)
  })

  it('readers of a tree see the old or the new content', async () => {
    await runtime.sh(
      'rm -rf /srv/*; mkdir /srv/a /srv/b; cd /srv/a; seq -f a%g 200 | xargs touch; cd /srv/b; seq -f b%g 300 | xargs touch',
    )
    const seen = await observe(treeReader)
    // gVisor cannot exchange two directories in one step: for a moment neither is there. Never is
    // there a part.
    const allowed = isolation === 'gvisor' ? ['a200', 'b300', 'absent'] : ['a200', 'b300']
    expect(Object.keys(seen).filter((what) => !allowed.includes(what))).toEqual([])
    expect((seen.a200 ?? 0) + (seen.b300 ?? 0)).toBeGreaterThan(0)
  })

  it('a cancelled copy leaves nothing', async () => {
    await runtime.sh('rm -rf /srv/*')
    await makeManyFiles(runtime)
    const abort = new AbortController()
    const copying = runtime.call('POST', '/files/copy', {
      json: { source: '/srv/s', destination: '/srv/d', recursive: true },
      signal: abort.signal,
    })
    const outcome = copying.then(
      ({ status }) => status,
      () => 'gave up',
    )
    await copyBegun(runtime)
    abort.abort()
    expect(await outcome).toBe('gave up')
    await until('the copy is undone or done', async () => (await temporaryName(runtime)) === null)
    expect(['s', 'd\ns']).toContain(await runtime.sh('ls -A /srv'))
  })
})

describeClasses('a runtime that is killed half-way through a copy', (isolation) => {
  it('keeps the old destination, and the service continues', async () => {
    const bystander = await createRuntime({ isolation })
    const runtime = await createRuntime({ isolation })
    await makeManyFiles(runtime)
    await runtime.sh('mkdir /srv/d; echo old > /srv/d/old')
    const copying = runtime.copy({ source: '/srv/s', destination: '/srv/d', recursive: true, overwrite: true })
    await copyBegun(runtime)
    // The service holds still, so that what the runtime left is seen before the service takes it
    // away.
    const daemon = daemonPid()
    process.kill(daemon, 'SIGSTOP')
    try {
      process.kill(initOf(runtime.id), 'SIGKILL')
      await until('it is dead', async () => processesOf(runtime.id).length === 0)
      // A container's files can be looked at from here; those of gVisor are in a format of its own.
      if (isolation === 'container') expect(readFileSync(join(rootOf(runtime), 'srv/d/old'), 'utf8')).toBe('old\n')
    } finally {
      process.kill(daemon, 'SIGCONT')
    }
    anyFailure(await copying)

    const failed = await until('the runtime has failed', async () => {
      const now = await runtime.refresh()
      return now.state === 'failed' ? now : null
    })
    expect(failed.state_reason?.code).toBe('crashed')
    failure(await runtime.call('POST', '/commands', { json: { command: 'true' } }), 'runtime_not_running')
    failure(await runtime.copy({ source: '/srv/s', destination: '/srv/x', recursive: true }), 'runtime_not_running')
    expect(processesOf(runtime.id)).toEqual([])
    expect(await bystander.sh('echo here')).toBe('here')

    await runtime.delete()
    const { code } = anyFailure(await runtime.call('POST', '/commands', { json: { command: 'true' } }))
    expect(['runtime_not_running', 'runtime_terminated']).toContain(code)
  })
})

/** The path on the host at which the root of a container is mounted. */
function rootOf(runtime: TestRuntime): string {
  return join(service.stateDir, 'runtimes', runtime.id, 'rootfs')
}

/** How many looks a copy has to outlast, so that one of them meets it half-way. */
const looksPerCopy = 10

/** Makes so many files that a copy of them lasts long enough on this machine as it is now. */
async function makeManyFiles(runtime: TestRuntime): Promise<void> {
  for (let [have, count] = [0, 6000]; count <= 96_000; [have, count] = [count, 2 * count]) {
    const { exit_code, stderr } = await runtime.run(['python', '-c', manyFiles, `${have}`, `${count}`], {
      user: 'root',
    })
    expect(exit_code, stderr).toBe(0)
    const copyMs = await timeOf(() => runtime.copied({ source: '/srv/s', destination: '/srv/tried', recursive: true }))
    await runtime.sh('rm -r /srv/tried')
    const lookMs = await timeOf(() => temporaryName(runtime))
    if (copyMs > looksPerCopy * lookMs) return
  }
  throw new Error('no copy lasts long enough')
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now()
  await work()
  return performance.now() - begunAt
}

/** Waits until a copy is being made. It looks without a pause, in which a copy could be over. */
async function copyBegun(runtime: TestRuntime): Promise<void> {
  const lateAt = performance.now() + 60_000
  while ((await temporaryName(runtime)) === null) if (performance.now() > lateAt) throw new Error('no copy has begun')
}

/** The hidden name under which a copy is being made, where it is made; null when none is. */
async function temporaryName(runtime: TestRuntime): Promise<string | null> {
  for (const path of ['/run/.holt-stage', '/srv']) {
    const listed = await runtime.call('GET', '/files/list', { query: { path } })
    // The first copy makes the directory.
    if (listed.status === 404) continue
    const found = success(listed, 200, pageOf(FileInfo)).data.find(({ name }) => name.startsWith('.holt-copy-'))
    if (found !== undefined) return found.name
  }
  return null
}
