import { readFile } from 'node:fs/promises'
import { arch } from 'node:os'
import type { Isolation } from '@holt/engine'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { detectCgroups } from '../src/cgroups/detect-cgroups.ts'
import { RuntimeCgroup } from '../src/cgroups/runtime-cgroup.ts'
import {
  importImage,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { missing } from './support/test-machine.ts'

const Facts = z.object({
  status: z.string(),
  mounts: z.string(),
  interfaces: z.array(z.string()),
  loopback: z.string(),
  sockets: z.array(z.string()),
  devices: z.array(z.string()),
  readable: z.array(z.string()),
  writable: z.array(z.string()),
  calls: z.record(z.string(), z.string()).nullable(),
  host: z.boolean(),
  blockNode: z.string(),
  pid1: z.string(),
})

/** The devices in `/dev` that reach no hardware: the kernel's own sources, sinks and terminals. */
const HARMLESS_DEVICE = /^\/dev\/(null|zero|full|random|urandom|tty|ptmx|console|fuse|net\/tun|pts\/(ptmx|\d+))$/

async function look(isolation: Isolation): Promise<z.infer<typeof Facts>> {
  await using under = await prepareEngine()
  const engine = await under.open()
  try {
    const spec = smallSpec(isolation, await importImage(engine, under))
    const guest = await startGuest(engine, spec)
    const { output } = await runCommand(guest, '/bin/probe', 'facts', under.options.stateDir)
    await expectOtherSessions(`/holt-${under.options.installationId}`, spec.id)
    await engine.remove(spec.id, timeout())
    expect(await under.leaks()).toEqual([])
    return Facts.parse(JSON.parse(output))
  } finally {
    await engine.close()
  }
}

const noGvisor = await missing('root', 'go', 'runsc')
const noContainer = await missing('root', 'go', 'runc')

test.skipIf(noContainer !== null)(
  `code in a container cannot reach the host (${noContainer ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 2 },
  async () => {
    const facts = await look('container')
    expectNoWayOut(facts)
    expect(facts.writable).toEqual([])
    expect(facts.status).toMatch(/^NoNewPrivs:\t1$/m)
    expect(facts.status).toMatch(/^Seccomp:\t2$/m)
    // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE, SYS_CHROOT,
    // SETFCAP.
    expect(facts.status).toMatch(/^CapBnd:\t00000000800404fb$/m)
    expect(facts.blockNode).toMatch(/^mknod: operation not permitted/)
    if (arch() === 'x64') {
      const { clone3, ...others } = facts.calls ?? {}
      expect(clone3).toBe('ENOSYS')
      expect(new Set(Object.values(others))).toEqual(new Set(['EPERM']))
    }
  },
)

test.skipIf(noGvisor !== null)(
  `code in gVisor cannot reach the host (${noGvisor ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 2 },
  async () => {
    const facts = await look('gvisor')
    expectNoWayOut(facts)
    // gVisor's own: it can be opened, a write to it answers EIO, and nothing of it reaches the
    // host's kernel.
    expect(facts.writable).toEqual(['/proc/sysrq-trigger'])
    expect(facts.blockNode).not.toBe('opened')
    if (arch() === 'x64') {
      // Mounts, namespaces and keyrings are gVisor's own there; what reaches for the host's kernel
      // does not exist.
      for (const call of [
        'bpf',
        'perf_event_open',
        'userfaultfd',
        'open_by_handle_at',
        'kexec_load',
        'init_module',
        'swapon',
        'iopl',
        'socket_vsock',
        'socket_alg',
      ]) {
        expect([call, facts.calls?.[call]]).not.toEqual([call, 'allowed'])
      }
    }
  },
)

/**
 * Nothing of a runtime is in this process's session, which is the daemon's: the kernel would give
 * it what it gives that one.
 */
async function expectOtherSessions(parent: string, id: string): Promise<void> {
  const host = { cgroups: await detectCgroups(), freezer: null }
  const pids = await new RuntimeCgroup(host, parent, id).processes()
  expect(pids.length).toBeGreaterThan(0)
  const own = await sessionOf('self')
  expect(own).toMatch(/^\d+$/)
  for (const pid of pids) expect([pid, await sessionOf(pid)]).not.toEqual([pid, own])
}

/** Field 6 of `/proc/PID/stat` (proc(5)), behind a name in brackets. */
async function sessionOf(pid: number | 'self'): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '') // It ended in between.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]
}

function expectNoWayOut(facts: z.infer<typeof Facts>): void {
  expect(facts.sockets).toEqual(['/run/holt/control.sock'])
  expect(facts.devices.filter((path) => !HARMLESS_DEVICE.test(path))).toEqual([])
  expect(facts.interfaces).toEqual(['lo'])
  expect(facts.loopback).toBe('works')
  expect(facts.readable).toEqual([])
  expect(facts.host).toBe(false)
  expect(facts.pid1.trim()).toBe('/run/holt-guest')
}
