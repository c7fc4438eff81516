import type { RuntimeState } from '@holt/protocol'
import { expect, test } from 'vitest'
import { OpenVisits } from '../../../src/tenancy/auth/open-visits.ts'

/** Changes the state of the runtime. Nothing arrives before others see it. */
const follow = (visits: OpenVisits, to: RuntimeState) => visits.follow('rt', to, visits.of('rt'))

test('the visits of one runtime are cut, and those of others stay', () => {
  const visits = new OpenVisits()
  const cut: string[] = []
  const enter = (id: string, name: string) => visits.enter(id, () => void cut.push(name))
  const leave = enter('one', 'a')
  enter('one', 'b')
  enter('other', 'c')
  leave()
  visits.cut('one')
  expect(cut).toEqual(['b'])
  visits.close()
  expect(cut).toEqual(['b', 'b', 'c'])
})

test('a visit that leaves while it is cut leaves nothing', () => {
  const visits = new OpenVisits()
  const leaveAll = () => {
    for (const leave of leaves) leave()
  }
  const leaves = [1, 2, 3].map(() => visits.enter('one', leaveAll))
  visits.cut('one')
  expect(visits.size).toBe(0)
})

test('a pause cuts the connections from before it, and keeps those that wait for its end', () => {
  const visits = new OpenVisits()
  const cut: string[] = []
  visits.enter('rt', () => cut.push('before'))
  const leave = visits.enter('rt', () => cut.push('left'))
  follow(visits, 'pausing')
  leave()
  visits.enter('rt', () => cut.push('during'))
  follow(visits, 'paused')
  expect(cut).toEqual(['before'])
  follow(visits, 'resuming')
  follow(visits, 'running')
  follow(visits, 'pausing')
  follow(visits, 'paused')
  expect(cut).toEqual(['before', 'before', 'during'])
})

test('the end of a runtime that is pausing cuts every connection', () => {
  const visits = new OpenVisits()
  const cut: string[] = []
  follow(visits, 'pausing')
  visits.enter('rt', () => cut.push('during'))
  follow(visits, 'terminating')
  expect(cut).toEqual(['during'])
})

test('a pause that began before a restart cuts what is open', () => {
  const visits = new OpenVisits()
  const cut: string[] = []
  visits.enter('rt', () => cut.push('open'))
  follow(visits, 'paused')
  expect(cut).toEqual(['open'])
})

test.each(['pausing', 'paused'] as const)('a connection of a client that has seen %s is not cut', (state) => {
  const visits = new OpenVisits()
  const cut: string[] = []
  visits.enter('rt', () => cut.push('before'))
  if (state === 'paused') follow(visits, 'pausing')
  const open = visits.of('rt')
  visits.enter('rt', () => cut.push('after'))
  visits.follow('rt', state, open)
  if (state === 'pausing') follow(visits, 'paused')
  expect(cut).toEqual(['before'])
})
