import { expect, test } from 'vitest'
import { findUser } from '../../src/image/find-user.ts'

const passwd = 'root:x:0:0:root:/root:/bin/sh\napp:x:1000:1001:,,,:/home/app:/bin/sh\nbroken:x:7\n'
const group = 'root:x:0:\nstaff:x:50:app\n'

test.each([
  ['', 'root'],
  ['root', 'root'],
  ['app', 'app'],
  ['1234', '1234'],
  ['1234:99', '1234:99'],
  ['app:staff', '1000:50'],
  ['app:7', '1000:7'],
  ['12:staff', '12:50'],
])('USER %j is %j', (user, expected) => {
  expect(findUser(user, { passwd, group })).toBe(expected)
})

test.each([
  ['', '0'],
  ['root', '0'],
  ['0', '0'],
  ['root:5', '0:5'],
])('USER %j of an image without users is %j', (user, expected) => {
  expect(findUser(user, { passwd: null, group: null })).toBe(expected)
})

test.each(['nobody', 'app:wheel', 'broken', ':50', 'app:', 'a:b:c', 'app\0', '4294967295', '99999999999', '-1'])(
  'USER %j is refused',
  (user) => {
    expect(() => findUser(user, { passwd, group })).toThrow(expect.objectContaining({ code: 'image_invalid' }))
  },
)
