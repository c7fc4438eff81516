import { head, type Lane, lanes } from './lanes.ts'
import type { Attack, Target } from './target.ts'

const json = { 'content-type': 'application/json' }

/** Answers to a project that exceeds its rate limit or quota. */
const limited = { rate_limited: 0, quota_exceeded: 0 }

/** More directories than a runtime can watch at once, some of them deep. */
const watched = [
  '/',
  '/bin',
  '/dev',
  '/etc',
  '/home',
  '/lib',
  '/opt',
  '/proc',
  '/root',
  '/run',
  '/sbin',
  '/srv',
  '/tmp',
]
  .concat(['/usr', '/usr/bin', '/usr/lib', '/usr/local', '/usr/sbin', '/usr/share', '/var', '/var/lib', '/var/log'])
  .flatMap((path) => [`path=${path}`, `path=${path}&recursive=true`])

/** Returns requests that follow a stream and do not end by themselves. */
function following(target: Target, index: number): string {
  const requests = [
    `${target.runtimePath}/files/watch?${watched[index % watched.length]}`,
    '/v1/agents/event?follow=true',
    `${target.runtimePath}/events?follow=true`,
    `${target.commandPath}/output?follow=true`,
  ]
  return head(target, `GET ${requests[index % requests.length]}`)
}

/**
 * Repeats a change over one connection. Each request is sent once the previous answer has begun.
 */
function change({ socket, note }: Lane, target: Target, [path, body]: readonly [path: string, body: object]): void {
  const text = JSON.stringify(body)
  const request = head(target, `PATCH ${path}`, { ...json, 'content-length': text.length }) + text
  const send = () => {
    note()
    socket.write(request)
  }
  socket.on('data', send)
  send()
}

/** Request storms of a client that has a key of its own project. */
export const storms = {
  'changes of one runtime as fast as they go': {
    evidence: { least: { opened: 200, pieces: 400 }, answers: { 200: 200, ...limited } },
    run: (target, time) => {
      const changes = [
        [target.runtimePath, { metadata: { note: 'x'.repeat(200) } }],
        [target.runtimePath, { timeout_secs: 3600, idle_timeout_secs: 3000 }],
        [`${target.runtimePath}/ports/9000`, { public: true }],
      ] as const
      return lanes(target, time, { count: 200 }, (lane) =>
        change(lane, target, changes[lane.index % changes.length] ?? changes[0]),
      )
    },
  },

  'watches and followers by the hundred': {
    evidence: { least: { opened: 300 }, answers: { 200: 100, conflict: 0, too_large: 0, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 300 }, ({ socket, index }) => socket.write(following(target, index))),
  },

  'watches and followers by the hundred that nobody reads': {
    evidence: { least: { opened: 300 }, answers: { 200: 100, conflict: 0, too_large: 0, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 300, reads: false }, ({ socket, index }) => socket.write(following(target, index))),
  },
} as const satisfies Record<string, Attack>
