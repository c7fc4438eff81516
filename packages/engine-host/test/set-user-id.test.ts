import { chmod, copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GuestClient } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { copyPrograms } from './support/copy-programs.ts'
import { processOf, textOf, timeout, VERB_TIMEOUT_MS, withRuntime } from './support/engine-under-test.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')

/**
 * The type of the entry by which the kernel says that a program has more rights than its caller
 * (getauxval(3)).
 */
const AT_SECURE = 23n

const nobody = '65534'

/** A program begins at once, on a machine that has time for it. */
const pollTimeout = { timeout: VERB_TIMEOUT_MS / 2 }

/** Programs that run as root, of the image. */
async function prepare(tree: string): Promise<void> {
  await copyPrograms(tree, 'id', 'sh', 'ln', 'cat', 'cp', 'chmod', 'chown')
  for (const [name, from, mode] of [
    ['root-id', 'id', 0o4755],
    ['root-cat', 'cat', 0o4755],
    ['of-root-alone', 'id', 0o4700],
  ] as const) {
    await copyFile(join(tree, 'bin', from), join(tree, 'bin', name))
    await chmod(join(tree, 'bin', name), mode)
  }
}

/** Makes programs on the disk that run as another user, and with another group. */
const onTheDisk = `cd /tmp; cp /bin/id other-id; cp /bin/id group-id
chown 1234 other-id; chown :27 group-id; chmod 4755 other-id; chmod 2755 group-id`

async function run(guest: GuestClient, command: string, user = nobody): Promise<string> {
  const request = { ...processOf([]), argv: null, command: `exec 2>&1; ${command}`, user }
  return textOf(await Array.fromAsync(await guest.processes.run(request, timeout()))).trim()
}

test.skipIf(reason !== null)(
  `a set-user-ID program runs as its owner in gVisor, as on Linux (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 2 },
  () =>
    withRuntime(
      'gvisor',
      async ({ guest }) => {
        await run(guest, onTheDisk, 'root')
        const all =
          'id -u; root-id -u; root-id -ru; cd /tmp; ./other-id -u; ./other-id -ru; ./group-id -g; ./group-id -rg'
        expect((await run(guest, all)).split('\n')).toEqual([nobody, '0', nobody, '1234', nobody, '27', nobody])
        expect(await run(guest, 'of-root-alone -u')).toMatch(/Permission denied/i)
        // Its loader ignores what the caller asks of it.
        expect(await isSecure(guest, 'root-cat')).toBe(true)
        expect(await isSecure(guest, 'cat')).toBe(false)
        // A caller cannot keep a program that an upgrade is about to replace.
        expect(await run(guest, 'ln /bin/root-id /tmp/kept')).toMatch(/not permitted/i)
        expect(await run(guest, 'ln /bin/id /tmp/kept')).toMatch(/not permitted/i)
        // A copy is the caller's own, and so is its bit.
        expect(await run(guest, 'cp /bin/id /tmp/own && chmod 4755 /tmp/own && /tmp/own -u')).toBe(nobody)
        expect(await run(guest, '/tmp/own -u', '1234')).toBe(nobody)
        // Neither another owner nor another content has the bit, though the file is held open.
        const holding = { ...processOf(['/bin/sh', '-c', 'exec 3< /tmp/own; echo held; read x']), user: nobody }
        await guest.processes.start({ ...holding, stdin: 'pipe' }, timeout())
        await expect
          .poll(async () => (await guest.processes.get(holding.id, timeout())).stdout_bytes, pollTimeout)
          .toBe(5)
        await run(guest, 'chown 0 /tmp/own', 'root')
        expect(await run(guest, '/tmp/own -u')).toBe(nobody)
        await guest.processes.writeStdin(holding.id, { data: Buffer.alloc(0), eof: true, offset: 0 }, timeout())
        await run(guest, 'cp /bin/id /tmp/open && chmod 4777 /tmp/open', 'root')
        expect(await run(guest, '/tmp/open -u; echo >> /tmp/open; /tmp/open -u')).toBe(`0\n${nobody}`)
        // A change of the owner by a client takes the bits away, on the disk and of the image.
        await run(guest, 'cp /bin/id /tmp/given && chmod 6755 /tmp/given', 'root')
        for (const path of ['/tmp/given', '/bin/of-root-alone']) {
          const { entry } = await guest.files.changeOwner({ path, user: '1234', recursive: false }, timeout())
          expect([path, Number.parseInt(entry.mode, 8) & 0o6000]).toEqual([path, 0])
        }
        // Nowhere but on the image and the disk.
        await run(guest, 'cp /bin/id /dev/shm/id && chmod 4755 /dev/shm/id', 'root')
        expect(await run(guest, '/dev/shm/id -u')).toBe(nobody)
      },
      prepare,
    ),
)

test.skipIf(reason !== null)(
  `a set-user-ID program gains nothing in a container (${reason ?? 'ready'})`,
  { timeout: VERB_TIMEOUT_MS * 2 },
  () =>
    withRuntime(
      'container',
      async ({ guest }) => {
        await run(guest, onTheDisk, 'root')
        const all = 'root-id -u; cd /tmp; ./other-id -u; ./group-id -g'
        expect((await run(guest, all)).split('\n')).toEqual([nobody, nobody, nobody])
        expect(await run(guest, 'cat /proc/self/status')).toMatch(/^NoNewPrivs:\t1$/m)
      },
      prepare,
    ),
)

/** Returns true if a program is told that it has more rights than its caller. */
async function isSecure(guest: GuestClient, program: string): Promise<boolean> {
  const request = { ...processOf([]), argv: null, command: `${program} /proc/self/auxv`, user: nobody }
  const items = await Array.fromAsync(await guest.processes.run(request, timeout()))
  const bytes = Buffer.concat(
    items.flatMap((item) => (item.type === 'stdout' ? [Buffer.from(item.data, 'base64')] : [])),
  )
  for (let at = 0; at + 16 <= bytes.length; at += 16) {
    if (bytes.readBigUInt64LE(at) === AT_SECURE) return bytes.readBigUInt64LE(at + 8) === 1n
  }
  throw new Error(`no AT_SECURE in ${bytes.length} bytes`)
}
