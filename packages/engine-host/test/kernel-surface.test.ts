import { expect, test } from 'vitest'
import { z } from 'zod'
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

const Surface = z.object({
  terminals: z.number(),
  sockets: z.array(z.string()),
  pairs: z.array(z.number()),
  aio: z.string(),
  uevents: z.string(),
  proc: z.array(z.string()),
  sys: z.array(z.string()),
  root: z.array(z.string()),
  mounts: z.string(),
  openFiles: z.string(),
  limits: z.array(z.string()),
})

/**
 * Entries of `/proc` that programs need, or that are equal on every machine. The machine's totals
 * are among them.
 */
const SHOWN_IN_PROC = [
  'cgroups',
  'cpuinfo',
  'devices',
  'execdomains',
  'filesystems',
  'loadavg',
  'meminfo',
  'misc',
  'stat',
  'swaps',
  'sys',
  'sysvipc',
  'tty',
  'uptime',
  'version',
  'vmstat',
]

/** Directories of `/sys` that may have files. */
const SHOWN_IN_SYS =
  /^\/sys\/(devices\/system\/(cpu|node)|devices\/virtual\/net|fs\/cgroup|kernel\/mm\/(hugepages|transparent_hugepage))(\/|$)/

/**
 * `family protocol` of the allowed sockets: UNIX, IP with TCP, UDP, ICMP and MPTCP, netlink routes.
 */
const SOCKETS = /^(1 [01]|(2|10) (0|1|6|17|58|262)|16 0)$/

const reason = await missing('root', 'go', 'runc')

test.skipIf(reason !== null)(
  `root in a container reaches no counter, device or protocol of the host (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 2 },
  async () => {
    await using under = await prepareEngine()
    const engine = await under.open()
    try {
      const spec = smallSpec('container', await importImage(engine, under))
      const { output } = await runCommand(await startGuest(engine, spec), '/bin/probe', 'kernel')
      await engine.remove(spec.id, timeout())
      expect(await under.leaks()).toEqual([])
      const surface = Surface.parse(JSON.parse(output))
      // The kernel has 3,072 for all containers of a host.
      expect(surface.terminals).toBeGreaterThan(64)
      expect(surface.terminals).toBeLessThanOrEqual(256)
      expect(surface.sockets).toEqual(expect.arrayContaining(['1 0', '2 6', '2 17', '16 0']))
      expect(surface.sockets.filter((kind) => !SOCKETS.test(kind))).toEqual([])
      expect(surface.pairs).toEqual([1])
      expect(surface.aio).toBe('ENOSYS')
      // The same error as from a kernel without that protocol: programs then work without it.
      expect(surface.uevents).toBe('protocol not supported')
      expect(surface.proc.filter((name) => !SHOWN_IN_PROC.includes(name))).toEqual([])
      expect(surface.sys).toEqual(expect.arrayContaining([expect.stringMatching(/\/system\/cpu/)]))
      expect(surface.sys.filter((path) => !SHOWN_IN_SYS.test(path))).toEqual([])
      expect(surface.root).toContain('nosuid')
      expect(surface.mounts).not.toContain(under.options.stateDir)
      expect(surface.limits).toEqual([])
      // A runner in Go must not pass its own, raised limit to programs.
      expect(Number(surface.openFiles)).toBeLessThanOrEqual(65_536)
    } finally {
      await engine.close()
    }
  },
)
