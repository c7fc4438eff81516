import { expect, it } from 'vitest'
import { CheckpointFile } from '../../../support/floors/checkpoint-file.ts'

it('writes and reads its number of bytes, repeatedly', async () => {
  await using file = await CheckpointFile.open((3 << 20) + 5)
  for (const sync of [true, false, true]) {
    await file.write({ sync })
    expect(await file.read()).toBe((3 << 20) + 5)
    await Promise.all([file.read(), file.read()])
  }
})
