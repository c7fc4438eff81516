import { expect } from 'vitest'

const ofEachHost = 'the limit is one of each host'
const inOrder = 'requests through one host arrive in order'

/** The tests that run without other hosts, as parts of their paths and names, with the reasons. */
const alone: readonly { readonly file: string; readonly test?: string; readonly why: string }[] = [
  { file: 'tenancy/audit/', why: 'another host writes its entries of the log up to a second later' },
  { file: 'tenancy/limits/', why: ofEachHost },
  { file: 'tenancy/auth/likely-projects.', why: 'connections queue at each host by itself' },
  { file: 'tenancy/auth/held-bodies.', why: 'another host accepts a revoked key for up to a second' },
  { file: 'tenancy/events/followers.', test: 'the streams of a project are limited', why: ofEachHost },
  { file: 'tenancy/events/event-routes.', test: 'beyond the maximum age', why: 'it opens the store of one machine' },
  {
    file: 'tenancy/idempotency/idempotency.',
    test: 'rotations of its key',
    why: 'it changes the key file of one host',
  },
  {
    file: 'tenancy/idempotency/idempotency.',
    test: 'another state directory',
    why: 'it changes the files of one host',
  },
  {
    file: 'tenancy/keys/rotation.',
    test: 'the key of this machine',
    why: 'a host of a fleet has a key of another name',
  },
  { file: 'tenancy/webhooks/webhook-routes.', test: 'is sent at once', why: 'the host with the duty sends messages' },
  { file: 'runtimes/lifecycle/pause-resume.', test: 'requests wait, and resume', why: inOrder },
  { file: 'runtimes/lifecycle/pause-resume.', test: 'in progress is answered first', why: inOrder },
  { file: 'daemon/costs/', why: 'it counts what one machine does' },
]

/** Returns true if the present test is about its own host. */
export function isAlone(): boolean {
  const { testPath = '', currentTestName = '' } = expect.getState()
  return alone.some(({ file, test = '' }) => testPath.includes(`/test/${file}`) && currentTestName.includes(test))
}
