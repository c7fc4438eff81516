import { describe, expect, it } from 'vitest'
import { ConnectError, PollingWatchers } from '../../src/index.ts'
import { startEnvd } from '../support/start-envd.ts'

const path = (name: string) => ({ path: name })

describe('the facts of a file', () => {
  it('have the form of protobuf', async () => {
    const { call, inside } = await startEnvd()
    inside.contents.set('/a', Buffer.from('hello'))
    expect(await call('filesystem.Filesystem/Stat', path('/a'))).toEqual({
      status: 200,
      json: {
        entry: {
          name: 'a',
          type: 'FILE_TYPE_FILE',
          path: '/a',
          size: '5',
          mode: 0o644,
          permissions: '-rw-r--r--',
          owner: 'user',
          group: 'user',
          modifiedTime: '1970-01-01T00:00:00.000Z',
        },
      },
    })
  })

  it('of a missing one are a 404', async () => {
    const { call } = await startEnvd()
    const { status, json } = await call('filesystem.Filesystem/Stat', path('/no'))
    expect([status, json]).toEqual([404, { code: 'not_found', message: "path '/no' does not exist" }])
  })
})

describe('a directory', () => {
  it('that is there is already_exists', async () => {
    const { call, inside } = await startEnvd()
    expect((await call('filesystem.Filesystem/MakeDir', path('/d'))).status).toBe(200)
    inside.contents.set('/d', Buffer.alloc(0))
    const { status, json } = await call('filesystem.Filesystem/MakeDir', path('/d'))
    expect([status, json.code]).toEqual([409, 'already_exists'])
  })
})

describe('a watch', () => {
  it('names its events from the directory on', async () => {
    const { stream, inside } = await startEnvd()
    inside.contents.set('/w/d/f', Buffer.from('x'))
    inside.changes.push(
      { type: 'created', path: '/w/d', isDirectory: true },
      { type: 'created', path: '/w/d/f', isDirectory: false },
      { type: 'attributes', path: '/w/d/f', isDirectory: false },
      { type: 'moved', from: '/w/d/f', path: '/w/g', isDirectory: false },
      { type: 'removed', path: '/w/g', isDirectory: false },
    )
    const { messages, error } = await stream('filesystem.Filesystem/WatchDir', [{ path: '/w', recursive: true }])
    expect(error).toBeNull()
    expect(messages[0]).toEqual({ start: {} })
    expect(messages.slice(1).map(({ filesystem: { type, name } }) => `${type.slice(11)} ${name}`)).toEqual([
      'CREATE d',
      'CREATE d/f',
      'WRITE d/f',
      'CHMOD d/f',
      'RENAME d/f',
      'CREATE g',
      'REMOVE g',
    ])
  })

  it('has entries on request, and ends when changes were lost', async () => {
    const { stream, inside } = await startEnvd()
    inside.contents.set('/w/f', Buffer.from('x'))
    inside.changes.push({ type: 'modified', path: '/w/f', isDirectory: false }, { type: 'lost' })
    const { messages, error } = await stream('filesystem.Filesystem/WatchDir', [{ path: '/w', include_entry: true }])
    expect(messages[1].filesystem.entry.path).toBe('/w/f')
    expect(error.code).toBe('resource_exhausted')
  })

  it('can be polled until it is removed', async () => {
    const { call, inside } = await startEnvd()
    inside.changes.push({ type: 'modified', path: '/w/f', isDirectory: false })
    const { json } = await call('filesystem.Filesystem/CreateWatcher', path('/w'))
    const poll = () => call('filesystem.Filesystem/GetWatcherEvents', json)
    await expect.poll(async () => (await poll()).json.events.length).toBe(1)
    expect((await poll()).json).toEqual({ events: [] })
    expect((await call('filesystem.Filesystem/RemoveWatcher', json)).status).toBe(200)
    for (const method of ['GetWatcherEvents', 'RemoveWatcher'])
      expect((await call(`filesystem.Filesystem/${method}`, json)).json.code).toBe('not_found')
  })
})

describe('the watchers of clients', () => {
  const event = (name: string) => ({ name, type: 'EVENT_TYPE_WRITE' })
  async function* events(count: number) {
    for (let index = 0; index < count; index += 1) yield event(`${index}`)
    await new Promise(() => {})
  }

  it('keep a number of events, and tell once that some were lost', async () => {
    const watchers = new PollingWatchers({ maxEvents: 3 })
    const few = await watchers.create('s', async () => events(3))
    const many = await watchers.create('s', async () => events(4))
    await expect.poll(() => watchers.take('s', few).length).toBe(3)
    expect(() => watchers.take('s', many)).toThrow(expect.objectContaining({ code: 'resource_exhausted' }))
    expect(watchers.take('s', many)).toEqual([])
    watchers.close()
    expect(watchers.size).toBe(0)
  })

  it('belong to their sandbox, and are limited there', async () => {
    const watchers = new PollingWatchers({ perSandbox: 1 })
    const id = await watchers.create('s', async () => events(0))
    expect(() => watchers.take('other', id)).toThrow(ConnectError)
    await expect(watchers.create('s', async () => events(0))).rejects.toMatchObject({ code: 'resource_exhausted' })
    await watchers.create('other', async () => events(0))
    watchers.close()
  })

  it('are dropped when nobody polls them', async () => {
    const watchers = new PollingWatchers({ unusedMs: 20 })
    let isAborted = false
    await watchers.create('s', async (signal) => {
      signal.addEventListener('abort', () => {
        isAborted = true
      })
      return events(1)
    })
    await expect.poll(() => [watchers.size, isAborted]).toEqual([0, true])
  })
})
