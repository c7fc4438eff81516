import { constants } from 'node:os'
import type { ProcessEnd } from '../backend/processes.ts'

/** The words of Go's package syscall for the signals of Linux. Other signals have their number. */
const words: Readonly<Record<string, string>> = {
  SIGHUP: 'hangup',
  SIGINT: 'interrupt',
  SIGQUIT: 'quit',
  SIGILL: 'illegal instruction',
  SIGTRAP: 'trace/breakpoint trap',
  SIGABRT: 'aborted',
  SIGBUS: 'bus error',
  SIGFPE: 'floating point exception',
  SIGKILL: 'killed',
  SIGUSR1: 'user defined signal 1',
  SIGSEGV: 'segmentation fault',
  SIGUSR2: 'user defined signal 2',
  SIGPIPE: 'broken pipe',
  SIGALRM: 'alarm clock',
  SIGTERM: 'terminated',
}

/** The number of SIGRTMIN for programs of the C library. */
const firstRealTime = 34

/**
 * Returns the message `EndEvent` for the end of a process. Clients show `error`. A signal is the
 * exit code -1; the code 0 and an empty error are left out, as protobuf leaves out defaults.
 */
export function endEvent({ exitCode, signal }: ProcessEnd): object {
  if (signal !== null) return failed(-1, false, `signal: ${signalWords(signal)}`)
  if (exitCode === null) return failed(-1, false, 'exit status unknown')
  const status = `exit status ${exitCode}`
  return exitCode === 0 ? { exited: true, status } : failed(exitCode, true, status)
}

function failed(exitCode: number, exited: boolean, status: string): object {
  return { exitCode, exited, status, error: status }
}

function signalWords(name: string): string {
  return words[name] ?? `signal ${numberOf(name)}`
}

function numberOf(name: string): number {
  const [, realTime] = /^SIGRTMIN(?:\+(\d+))?$/.exec(name) ?? []
  if (name.startsWith('SIGRTMIN')) return firstRealTime + Number(realTime ?? 0)
  const known = (constants.signals as Readonly<Record<string, number>>)[name]
  return known ?? Number(/^SIG(\d+)$/.exec(name)?.[1] ?? 0)
}
