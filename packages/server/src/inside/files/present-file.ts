import type { GuestFile } from '@holt/guest-client'
import type { FileInfo } from '@holt/protocol'
import { moment } from '../../foundation/store/moment.ts'

/** The years 1 to 9999, which RFC 3339 can express. A guest may claim any other. */
const earliestMs = -62_135_596_800_000
const latestMs = 253_402_300_799_999

/** Returns a guest's file as the API shows it. */
export function presentFile({ modified_at_ms, path_base64, ...file }: GuestFile): FileInfo {
  return {
    ...file,
    modified_at: moment(Math.min(latestMs, Math.max(earliestMs, modified_at_ms))),
    ...(path_base64 === undefined ? {} : { path_base64 }),
  }
}
