import { expect, test } from 'vitest'
import { copySource } from '../../src/templates/copy-source.ts'
import type { TemplateStep } from '../../src/templates/template-requests.ts'
import { firstPlace, translateSteps } from '../../src/templates/translate-steps.ts'

const step = (type: string, args: string[], filesHash?: string): TemplateStep => ({
  type,
  args,
  filesHash,
  force: undefined,
})
const onTemplate = { provision: false, place: firstPlace }
const stepsOf = (...steps: TemplateStep[]) => translateSteps(steps, onTemplate).steps

test('runs a line in a login shell of the present user', () => {
  expect(stepsOf(step('RUN', ["echo 'a' $HOME"]))).toEqual([{ run: "exec /bin/bash -l -c 'echo '\\''a'\\'' $HOME'" }])
})

test('runs a line of another user, and returns to the present one', () => {
  expect(stepsOf(step('RUN', ['id', 'root']), step('USER', ['root']), step('RUN', ['id', 'root']))).toEqual([
    { user: 'root' },
    { run: "exec /bin/bash -l -c 'id'" },
    { user: 'user' },
    { user: 'root' },
    { run: "exec /bin/bash -l -c 'id'" },
  ])
})

test('keeps the variables of ENV, and no others', () => {
  expect(stepsOf(step('ENV', ['A', '1', 'PATH', '/opt:$PATH']), step('WORKDIR', ['/a$b']))).toEqual([
    { env: { A: '1', PATH: '/opt:$PATH' } },
    { user: 'root' },
    { run: "[ -d '/a$b' ] || { mkdir -p '/a$b' && chown 'user': '/a$b'; }" },
    { user: 'user' },
    { workdir: '/a\\$b' },
  ])
})

test('gives copies their owner, their mode and the place of their upload', () => {
  const { steps, hashes, origins } = translateSteps(
    [
      step('COPY', ['app', '/app', '', ''], 'h1'),
      step('COPY', ['src/*.py', 'lib/', 'root', '0644'], 'h2'),
      step('COPY', ['app', '~/again', 'a:b', ''], 'h1'),
    ],
    onTemplate,
  )
  expect(hashes).toEqual(['h1', 'h2'])
  expect(origins).toEqual([1, 2, 3])
  expect(steps).toEqual([
    { copy: { source: '0/app', destination: '/app', chown: 'user:user' } },
    { copy: { source: '1/src', destination: 'lib/', chown: 'root:root', chmod: '0644' } },
    { copy: { source: '0/app', destination: '/home/user/again', chown: 'a:b' } },
  ])
})

test('begins on an image with the account and its home', () => {
  const { steps, origins } = translateSteps([step('RUN', ['true'])], { provision: true, place: firstPlace })
  expect(origins).toEqual(['base', 'base', 'base', 'base', 1])
  expect(steps.map((one) => Object.keys(one)[0])).toEqual(['user', 'run', 'user', 'workdir', 'run'])
})

test.each([
  [step('RUN', [])],
  [step('COPY', ['a'], 'h')],
  [step('COPY', ['a', 'b'])],
  [step('COPY', ['../a', 'b'], 'h')],
  [step('COPY', ['a', 'b', '', 'rwx'], 'h')],
  [step('COPY', ['a', 'b'], '../../etc')],
  [step('ENV', ['A'])],
  [step('WORKDIR', [])],
  [step('CMD', ['a'])],
])('refuses %j', (wrong) => {
  expect(() => stepsOf(wrong)).toThrow(expect.objectContaining({ status: 400 }))
})

test.each([
  ['a.txt', '0/a.txt'],
  ['./a/b', '0/a/b'],
  ['folder/', '0/folder'],
  ['folder/*', '0/folder'],
  ['folder/**/*.js', '0/folder'],
  ['*.txt', '0'],
  ['.', '0'],
  ['a/x{1,2}', '0/a'],
  ['a $b', '0/a \\$b'],
])('copies %s from %s', (source, expected) => {
  expect(copySource('0', source)).toBe(expected)
})
