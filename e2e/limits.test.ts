import { Command, CommandResult, EventPage, type Runtime } from '@holt/protocol'
import { beforeAll, expect, it } from 'vitest'
import { call, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { cpuTimeOf, processesOf, throttledPeriodsOf } from './support/host.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// Takes memory and touches it until it is stopped, and says after each 16 MiB how much it has.
const hog = `
import sys
held = []
while True:
    held.append(bytearray(b'x') * (16 << 20))
    print(16 * len(held), flush=True)`

// Starts threads until that is refused, and says how many there were. A thread is what the kernel
// counts as a process, and costs the least.
const threads = `
import json, threading
end = threading.Event()
count = 0
try:
    while count < 20000:
        threading.Thread(target=end.wait).start()
        count += 1
except RuntimeError: pass
end.set()
print(json.dumps(count))`

/**
 * The longest answer time of another runtime while this one misbehaves: much more than it needs,
 * and much less than a hang.
 */
const SERVED_WITHIN_MS = 15_000

describeClasses('limits', (isolation) => {
  let bystander: TestRuntime
  beforeAll(async () => {
    bystander = await createRuntime({ isolation })
  })

  // gVisor keeps processes and inodes in its own memory, megabytes for a process: there it is the
  // limit of memory that is met first, and the sooner the smaller.
  const small = isolation === 'gvisor' ? { memory: '256MiB' } : {}

  const served = async () => {
    const answer = await bystander.call('POST', '/commands', {
      json: { command: 'echo served' },
      timeoutMs: SERVED_WITHIN_MS,
    })
    expect(answer.text).toContain('served')
  }

  it('a process that uses too much memory is killed at the limit, and no other', async () => {
    await using runtime = await createRuntime({ isolation, memory: '256MiB' })
    const hogging = runtime.call('POST', '/commands', { json: { argv: ['python', '-c', hog], timeout_secs: 60 } })
    const [answer] = await Promise.all([hogging, served()])
    const { stdout, exit_code, oom_killed, timed_out } = success(answer, 200, CommandResult)
    expect({ exit_code, oom_killed, timed_out }).toEqual({ exit_code: 137, oom_killed: true, timed_out: false })
    // In gVisor it goes on for the moment that it takes to end it.
    const most = isolation === 'gvisor' ? 2 * 256 : 256
    expect(Math.max(...stdout.trim().split('\n').map(Number))).toBeLessThanOrEqual(most)
    expect((await runtime.run('echo on')).stdout).toBe('on\n')
    await served()
    const query = { type: 'runtime.oom_killed', subject: runtime.id }
    const event = await until('the event is there', async () => {
      const page = success(await call('GET', '/v1/agents/event', { query }), 200, EventPage)
      return page.data[0]
    })
    expect(event.data).toMatchObject({ processes: 1, memory_mib: 256 })
  })

  it('a Node process is killed at its memory limit, and the files stay', async () => {
    await using runtime = await createRuntime({ isolation, memory: '256MiB' })
    await runtime.sh('echo kept > /workspace/kept')
    const heap = 'const all = []; for (;;) all.push(new Array(1e5).fill(Math.random()))'
    const argv = ['node', '--max-old-space-size=4096', '-e', heap]
    const { exit_code, oom_killed } = success(
      await runtime.call('POST', '/commands', { json: { argv, timeout_secs: 60 } }),
      200,
      CommandResult,
    )
    expect({ exit_code, oom_killed }).toEqual({ exit_code: 137, oom_killed: true })
    expect(await runtime.sh('cat /workspace/kept')).toBe('kept')
    await served()
  })

  // gVisor's own kernel has no memory to size by but the runtime's.
  if (isolation === 'container')
    it('programs of every user see the size of the runtime', async () => {
      await using runtime = await createRuntime({ isolation, memory: '512MiB' })
      const files = '/sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max'
      const heap = `node -p 'v8.getHeapStatistics().heap_size_limit'`
      for (const user of ['user', 'root']) {
        const { stdout } = await runtime.run(`cat ${files} 2>/dev/null; ${heap}`, { user })
        const [limit, heapLimit] = stdout.trim().split('\n').map(Number)
        expect(limit, user).toBe(512 * 2 ** 20)
        expect(heapLimit, user).toBeLessThan(512 * 2 ** 20)
      }
      const covered = await runtime.run('touch /sys/fs/cgroup/new || mount -t tmpfs none /sys/fs/cgroup', {
        user: 'root',
      })
      expect(covered.exit_code).not.toBe(0)
    })

  it('processes above a number are refused, and the runtime continues', async () => {
    await using runtime = await createRuntime({ isolation })
    const [count] = await Promise.all([runtime.python<number>(threads, [], { timeout_secs: 60 }), served()])
    expect(count).toBeGreaterThan(100)
    expect(count).toBeLessThan(5_000)
    expect((await runtime.run('echo on')).stdout).toBe('on\n')
  })

  it('a fork bomb is limited and can be killed', async () => {
    await using runtime = await createRuntime({ isolation, ...small })
    const json = { command: 'bomb() { bomb | bomb & }; bomb; sleep 60', background: true }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    await until('it has exploded', async () => processesOf(runtime.id).length > 50)
    await served()
    // A kill that cannot keep up within its time says so, and is asked for again. Of gVisor the
    // bomb may have taken all memory before.
    const ended = await until(
      'the bomb is dead',
      async () => {
        if ((await runtime.refresh()).state === 'failed') return 'failed'
        return (await runtime.call('DELETE', `/commands/${command_id}`)).status === 200 ? 'killed' : null
      },
      45_000,
    )
    if (ended === 'killed') expect((await runtime.run('echo on')).stdout).toBe('on\n')
    else expect((await failed(runtime)).state_reason?.code).toBe('out_of_memory')
    await served()
  })

  it('processor time is limited to the requested share', async () => {
    await using runtime = await createRuntime({ isolation, cpu: 0.5 })
    await runtime.run('true')
    const busy = runtime.run('for n in 1 2 3; do (while :; do :; done) & done; sleep 4', { timeout_secs: 4 })
    await until('it is busy', async () => processesOf(runtime.id).length > 0)
    const [startedAt, startedWith] = [process.hrtime.bigint(), cpuTimeOf(runtime.id)]
    const stoppedBefore = throttledPeriodsOf(runtime.id)
    await served()
    await busy
    const used = cpuTimeOf(runtime.id) - startedWith
    const stopped = throttledPeriodsOf(runtime.id) - stoppedBefore
    expect(used / Number(process.hrtime.bigint() - startedAt)).toBeLessThan(0.5 * 1.3)
    // Other programs may take its share. The limit may only stop it in a period in which it had it.
    expect(used).toBeGreaterThan(0.5 * 0.4 * stopped)
  })

  it('empty files are limited too', async () => {
    await using runtime = await createRuntime({ isolation, ...small })
    const making = runtime.call('POST', '/commands', {
      json: { argv: ['python', '-c', manyFiles], user: 'root', timeout_secs: 150 },
      timeoutMs: 160_000,
    })
    const [answer] = await Promise.all([making, served()])
    if (isolation === 'container') {
      const { stdout, stderr } = success(answer, 200, CommandResult)
      expect(stderr).toBe('')
      expect(JSON.parse(stdout)).toMatchObject({ refused: 'ENOSPC' })
      await runtime.sh('rm -rf /srv/0; echo on > /srv/again')
    } else if (answer.status === 200) {
      const { exit_code, oom_killed } = success(answer, 200, CommandResult)
      expect({ exit_code, oom_killed }).toEqual({ exit_code: 137, oom_killed: true })
    } else {
      // The files belong to no process. If they hold too much for ten seconds, the runtime ends.
      expect((await failed(runtime)).state_reason?.code).toBe('out_of_memory')
    }
    await served()
  }, 180_000)
})

/** Waits until the runtime has failed. */
function failed(runtime: TestRuntime): Promise<Runtime> {
  return until('the runtime has failed', async () => {
    const now = await runtime.refresh()
    return now.state === 'failed' ? now : null
  })
}

const manyFiles = `
import errno, json, os
made = 0
refused = None
while refused is None:
    try:
        folder = f'/srv/{made // 5000}'
        if made % 5000 == 0: os.mkdir(folder)
        os.close(os.open(f'{folder}/{made}', os.O_CREAT | os.O_WRONLY))
        made += 1
    except OSError as error: refused = errno.errorcode[error.errno]
print(json.dumps({'made': made, 'refused': refused}))`
