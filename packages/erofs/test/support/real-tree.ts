import { linkSync, lutimesSync, mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { pattern } from './entries.ts'
import { run } from './run.ts'

/**
 * Makes a directory on the host with one of everything that fits into a tar. Needs root for devices
 * and owners.
 */
export async function makeRealTree(root: string): Promise<void> {
  mkdirSync(`${root}/deep/er`, { recursive: true, mode: 0o2750 })
  for (const size of [0, 1, 511, 512, 513, 4096, 100_000]) writeFileSync(`${root}/deep/f${size}`, pattern(size))
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x20, 0xfe])]), 'not UTF-8')
  writeFileSync(`${root}/setuid`, 'x', { mode: 0o755 })
  linkSync(`${root}/setuid`, `${root}/deep/er/hard`)
  symlinkSync('/absolute/../target', `${root}/link`)
  writeSparse(`${root}/sparse`)
  await run('mknod', [`${root}/null`, 'c', '1', '3'])
  await run('mknod', [`${root}/disk`, 'b', '259', '7'])
  await run('mkfifo', [`${root}/fifo`])
  await run('chown', ['-h', '1234:2345', `${root}/link`, `${root}/fifo`])
  await run('chmod', ['6755', `${root}/setuid`])
  for (const name of ['setuid', 'fifo', 'deep/f1']) utimesSync(`${root}/${name}`, 1.5e9, 1_600_000_000.25)
  lutimesSync(`${root}/link`, 1.5e9, 86_400)
}

/** Adds what only the pax and GNU formats can say: long names, long targets, large owners. */
export async function addLongNames(root: string): Promise<void> {
  const path = `${root}/${'d'.repeat(120)}/${'e'.repeat(200)}`
  mkdirSync(path, { recursive: true })
  writeFileSync(`${path}/${'f'.repeat(255)}`, 'long')
  linkSync(`${path}/${'f'.repeat(255)}`, `${path}/hard`)
  symlinkSync('t'.repeat(1000), `${path}/symlink`)
  await run('chown', ['3000000:4000000', path])
}

/** Adds what only the pax format can say: attributes, with bytes that are not text. */
export async function addXattrs(root: string): Promise<void> {
  const capability = '0x0100000200200000000000000000000000000000'
  await run('setfattr', ['-n', 'security.capability', '-v', capability, `${root}/deep/f513`])
  await run('setfattr', ['-n', 'user.a=b%3D', '-v', '0x00ff0a3d', `${root}/deep/f512`])
  await run('setfattr', ['-n', 'trusted.d', '-v', 'text', `${root}/deep`])
}

/** Many islands of data, so that a map needs more than one block; begins and ends with a hole. */
function writeSparse(path: string): void {
  writeFileSync(path, '')
  for (let island = 0; island < 60; island += 1) {
    truncateSync(path, island * 65_536 + 32_768)
    writeFileSync(path, pattern(5000, island), { flag: 'a' })
  }
  truncateSync(path, 5_000_001)
}
