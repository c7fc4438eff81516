import { describe, expect, it } from 'vitest'
import {
  admissionOf,
  changeOf,
  controlRoutes,
  envdRoutes,
  isAbsentPath,
  isControlPath,
  matchControl,
  matchEnvd,
} from '../../src/index.ts'

describe('the paths of the control plane', () => {
  it.each(Object.entries(controlRoutes))('has a path for %s that reaches it', (name, { method, path }) => {
    const asked = path.replaceAll(/\{\w+\}/g, 'x')
    expect(isControlPath(asked)).toBe(true)
    expect(matchControl(method, asked)).toMatchObject({ name })
  })

  it.each([
    ['GET', '/sandboxes/a%2Fb', { name: 'getSandbox', params: { sandboxID: 'a/b' } }],
    ['GET', '/templates/aliases/ns%2Fname%3Atag', { name: 'findAlias', params: { alias: 'ns/name:tag' } }],
    ['GET', '/sandboxes/metrics', { name: 'listMetrics', params: {} }],
    ['PATCH', '/sandboxes/x', 'method'],
    ['GET', '/sandboxes/a/b/c', 'path'],
    ['GET', '/sandboxes/', 'path'],
    ['GET', '/sandboxes/%ff', 'method'],
    ['GET', '/sandboxes/%00', 'method'],
  ])('matches %s %s', (method, path, expected) => {
    expect(matchControl(method, path)).toEqual(expected)
  })

  it('knows the abilities that are absent', () => {
    expect(['/volumes', '/volumes/x', '/secrets', '/volumecontent/a/dir'].every(isAbsentPath)).toBe(true)
    expect(['/sandboxes', '/volumesque', '/'].some(isAbsentPath)).toBe(false)
  })
})

describe('the paths of commands and files', () => {
  it.each(Object.entries(envdRoutes))('has a path for %s that reaches it', (name, { method, path }) => {
    expect(matchEnvd(method, path.replaceAll(/\{\w+\}/g, 'Start'))).toMatchObject({ name })
  })

  it.each(['/init', '/freeze', '/upgrade', '/process.Process', '/processXProcess/Start'])('has none for %s', (path) => {
    expect(matchEnvd('POST', path)).toBe('path')
  })

  it('tells changes from reads', () => {
    const change = (path: string) => {
      const match = matchEnvd('POST', path)
      return typeof match === 'string' ? match : changeOf(path, match.name)
    }
    expect(change('/files')).toBe('writeFiles')
    expect(change('/process.Process/Start')).toBe('Start')
    expect(change('/filesystem.Filesystem/Remove')).toBe('Remove')
    for (const path of ['/process.Process/List', '/process.Process/Connect', '/filesystem.Filesystem/WatchDir'])
      expect(change(path)).toBeNull()
    expect(changeOf('/files', 'readFile')).toBeNull()
  })

  it('lets anybody ask for the health only', () => {
    const open = Object.keys(envdRoutes).filter((name) => admissionOf(name as keyof typeof envdRoutes) === 'none')
    expect(open).toEqual(['envdHealth'])
  })
})
