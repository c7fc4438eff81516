import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ServerConfig } from '../foundation/config/config.ts'

/** `TCP_LISTEN` of the kernel's include/net/tcp_states.h. */
const listens = '0A'
const lastPort = 65_535

/** The programs of the service by their paths, as the launchers start them. */
const ownProgram = /(?:^|\/)(?:holtd|holtd\.mjs|packages\/server\/src\/main\.ts)$/

/** Returns true if a start failed because another process has the port. */
export function isPortTaken(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  return error instanceof Error && code === 'EADDRINUSE' && syscall === 'listen'
}

/**
 * Returns the error for a port in use, with the process if it can be found. Reads all of /proc,
 * which is acceptable after a failed start.
 */
export async function portTaken({ port: plain }: Pick<ServerConfig, 'port'>, cause: unknown): Promise<Error> {
  const { port = plain } = cause as { readonly port?: number }
  const setting = port === plain ? 'HOLT_PORT' : 'HOLT_E2B_TLS_PORT'
  const pid = await listenerOf(port)
  const by = pid === null ? 'another process' : `process ${pid} (${await nameOf(pid)})`
  const other = port < lastPort ? port + 1 : port - 1
  return new Error(`Port ${port} is taken by ${by}. Choose another: ${setting}=${other} holt up`, { cause })
}

/**
 * Returns the process that listens on a port of this machine. Returns null if none is found, for
 * example one of another user.
 */
async function listenerOf(port: number): Promise<number | null> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => textOf(`/proc/net/${name}`)))
  const sockets = new Set(tables.flatMap((table) => listenersIn(table, port)).map((inode) => `socket:[${inode}]`))
  if (sockets.size === 0) return null
  for (const name of await namesIn('/proc')) {
    if (!/^\d+$/.test(name)) continue
    for (const fd of await namesIn(`/proc/${name}/fd`)) {
      const target = await readlink(`/proc/${name}/fd/${fd}`).catch(() => '') // Closed, or ended.
      if (sockets.has(target)) return Number(name)
    }
  }
  return null
}

/**
 * Returns the inodes of the sockets that listen on a port, from a table in the form of
 * proc_pid_net(5).
 */
function listenersIn(table: string, port: number): readonly string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    return state === listens && local.endsWith(`:${hex}`) ? [inode] : []
  })
}

/**
 * Returns the program of a process without its arguments, which may hold secrets. For another Holt
 * service, also returns its state directory.
 */
async function nameOf(pid: number): Promise<string> {
  const words = (await textOf(`/proc/${pid}/cmdline`)).split('\0')
  if (!words.some((word) => ownProgram.test(word))) return shown(basename(words[0] ?? '')) || 'of another user'
  const set = (await textOf(`/proc/${pid}/environ`)).split('\0').find((one) => one.startsWith('HOLT_STATE_DIR='))
  const directory = set?.slice('HOLT_STATE_DIR='.length) ?? ''
  return directory === '' ? 'holtd' : `holtd of the state directory ${shown(directory)}`
}

/** Replaces unprintable characters. The line goes to a terminal, and a process chooses its name. */
function shown(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e]/g, '?')
}

/**
 * Returns the text of a file. Empty if it cannot be read, for example of a process that has ended.
 */
async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

async function namesIn(path: string): Promise<readonly string[]> {
  return readdir(path).catch(() => [])
}
