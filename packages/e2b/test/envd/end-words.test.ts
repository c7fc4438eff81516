import { describe, expect, it } from 'vitest'
import { endEvent } from '../../src/envd/process/end-words.ts'

describe('the end of a process', () => {
  it('leaves out the code 0 and the error', () => {
    expect(endEvent({ exitCode: 0, signal: null, timedOut: false })).toEqual({ exited: true, status: 'exit status 0' })
  })

  it('has the code in words', () => {
    expect(endEvent({ exitCode: 3, signal: null, timedOut: false })).toEqual({
      exitCode: 3,
      exited: true,
      status: 'exit status 3',
      error: 'exit status 3',
    })
  })

  it.each([
    ['SIGKILL', 'killed'],
    ['SIGTERM', 'terminated'],
    ['SIGSEGV', 'segmentation fault'],
    ['SIGHUP', 'hangup'],
    ['SIGABRT', 'aborted'],
    ['SIGSTOP', 'signal 19'],
    ['SIGSYS', 'signal 31'],
    ['SIGRTMIN', 'signal 34'],
    ['SIGRTMIN+2', 'signal 36'],
    ['SIG32', 'signal 32'],
  ])('by %s is the code -1 and the words of the signal', (signal, words) => {
    const status = `signal: ${words}`
    // A shell reports 128 + n for the same end.
    expect(endEvent({ exitCode: 137, signal, timedOut: false })).toEqual({
      exitCode: -1,
      exited: false,
      status,
      error: status,
    })
  })

  it('that nobody saw is the code -1', () => {
    expect(endEvent({ exitCode: null, signal: null, timedOut: false })).toMatchObject({ exitCode: -1, exited: false })
  })
})
