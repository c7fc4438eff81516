import { expect, test } from 'vitest'
import { type Wishes, wishesAfter } from '../../../src/fleet/kubernetes/wish-of-node.ts'

const ready: Wishes = { wanted: 'ready', isFollowing: false }
const followed: Wishes = { wanted: 'cordoned', isFollowing: true }
const byOperator: Wishes = { wanted: 'cordoned', isFollowing: false }

test.each([
  ['a ready host is cordoned with its Node', ready, { isCordoned: true }, followed],
  [
    'a ready host is drained with its Node',
    ready,
    { isCordoned: true, drainOnCordon: true },
    { ...followed, wanted: 'draining' },
  ],
  ['it is ready again with its Node', followed, { isCordoned: false }, ready],
  [
    'it is ready again after an operator has drained it',
    { ...followed, wanted: 'draining' },
    { isCordoned: false },
    ready,
  ],
  [
    'it stays ready if an operator has made it so',
    { ...followed, wanted: 'ready' },
    { isCordoned: true },
    { ...followed, wanted: 'ready' },
  ],
  ['a host that an operator cordoned before stays as it is', byOperator, { isCordoned: true }, byOperator],
  ['it stays so when the Node is uncordoned', byOperator, { isCordoned: false }, byOperator],
  [
    'a host that is gone stays gone',
    { wanted: 'gone', isFollowing: true },
    { isCordoned: false },
    { wanted: 'gone', isFollowing: false },
  ],
] as const)('%s', (_, before, seen, after) => {
  expect(wishesAfter(before, { drainOnCordon: false, ...seen })).toEqual(after)
})
