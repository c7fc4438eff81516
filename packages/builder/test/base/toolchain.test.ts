import { expect, test } from 'vitest'
import { isLts } from '../../src/base/toolchain.ts'

test.each([
  ['an LTS release', '#define NODE_VERSION_IS_LTS 1\n#define NODE_VERSION_LTS_CODENAME "Krypton"\n', true],
  ['one that is none yet', '#define NODE_VERSION_IS_LTS 0\n#define NODE_VERSION_LTS_CODENAME ""\n', false],
  ['a header that does not say', '#define NODE_MAJOR_VERSION 26\n', false],
])('tells by the header of a Node whether it is %s', (_, lines, lts) => {
  expect(isLts(`#ifndef SRC_NODE_VERSION_H_\n${lines}#endif\n`)).toBe(lts)
})
