import { expect } from 'vitest'

const ofEachHost = 'the limit is one of each host'
const removedLater = 'the other hosts remove their copies with their next collection'
const memoryOfHost = 'the answer is in the memory of one host (LIMITATIONS.md)'
const countsOwn = 'a host counts and logs its own part of a request'
const ofOneStore = 'it opens the store of one machine'
const inOrder = 'requests through one host arrive in order'

/** The tests that run without other hosts, as parts of their paths and names, with the reasons. */
const alone: readonly { readonly file: string; readonly test?: string; readonly why: string }[] = [
  { file: 'api/console/', why: 'a browser has one address of the service' },
  { file: 'api/hosts.', why: 'it is about the list of one host' },
  { file: 'api/http/floods.', why: ofEachHost },
  { file: 'api/metrics/metrics.', why: countsOwn },
  { file: 'api/metrics/runtime-metrics.', test: 'an unreadable runtime', why: memoryOfHost },
  { file: 'api/metrics/runtime-metrics.', test: 'the metrics of many runtimes', why: memoryOfHost },
  { file: 'api/telemetry/', why: countsOwn },
  { file: 'resources/secrets/secret-injection.', test: 'an OAuth token is fetched', why: memoryOfHost },
  { file: 'resources/templates/base-templates.', test: 'progress', why: 'it starts the service itself' },
  { file: 'tenancy/audit/', why: 'another host writes its entries of the log up to a second later' },
  { file: 'tenancy/limits/', why: ofEachHost },
  { file: 'tenancy/auth/likely-projects.', why: 'connections queue at each host by itself' },
  { file: 'tenancy/events/followers.', test: 'the streams of a project are limited', why: ofEachHost },
  { file: 'tenancy/events/event-routes.', test: 'beyond the maximum age', why: ofOneStore },
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
  { file: 'runtimes/lifecycle/cut-off.', test: 'the follower of an output waits', why: inOrder },
  { file: 'runtimes/lifecycle/pause-resume.', test: 'requests wait, and resume', why: inOrder },
  { file: 'runtimes/lifecycle/pause-resume.', test: 'in progress is answered first', why: inOrder },
  {
    file: 'runtimes/forks/',
    test: 'each child passes admission',
    why: 'it counts the looks at the memory of one host',
  },
  { file: 'runtimes/reconcile/mark-missing.', why: 'another host may have the files that this one lacks' },
  { file: 'runtimes/snapshots/', test: 'starts no collection', why: removedLater },
  { file: 'runtimes/snapshots/', test: 'a delete frees the disk', why: removedLater },
  { file: 'builds/build-control.', test: 'deleting a template', why: 'a build of another host ends when it notices' },
  { file: 'builds/build-control.', test: 'was killed while', why: 'it writes the rows of the only host' },
  { file: 'builds/retake-checkpoints.', why: 'a fleet does not take checkpoints again (LIMITATIONS.md)' },
  { file: 'e2b/entry/', test: 'under their own label', why: countsOwn },
  { file: 'daemon/export-import.', why: ofOneStore },
  { file: 'daemon/own-store.', why: ofOneStore },
  { file: 'daemon/purge.', why: ofOneStore },
  { file: 'fleet/', why: 'it makes its own fleet' },
  { file: 'foundation/config/damaged-files.', why: 'it changes the key file of one host' },
  { file: 'foundation/request/client-address.', why: ofEachHost },
  { file: 'foundation/sealing/master-keys.', why: 'it changes the key file of one host' },
  { file: 'foundation/store/damaged-keys-and-projects.', why: 'a host of a fleet has a key of another name' },
  { file: 'daemon/costs/', why: 'it counts what one machine does' },
]

/** Returns true if the present test is about its own host. */
export function isAlone(): boolean {
  const { testPath = '', currentTestName = '' } = expect.getState()
  return alone.some(({ file, test = '' }) => testPath.includes(`/test/${file}`) && currentTestName.includes(test))
}
