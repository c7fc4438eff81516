import { shareOf } from '@holt/testkit'

/**
 * Prints the items that this run draws, one on each line: `draw-share.ts SHARE SUBJECT ITEM...`.
 */
const [share, subject = '', ...items] = process.argv.slice(2)
for (const item of shareOf(items, Number(share), subject)) console.log(item)
