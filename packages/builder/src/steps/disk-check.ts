import { BuildError } from '../errors.ts'

const MIB = 2 ** 20

/** The difference in size between file systems, and between two builds of the same, in MiB. */
const MARGIN_MIB = 4

/**
 * The room in addition to a template's disk for running steps, so that a step that needs more can
 * be told how much.
 */
const SLACK_MIB = { min: 512, max: 4096 } as const

/** The estimated size of installed files if nothing is known, in MiB. */
const INSTALL_MIB = 256

/** Returns the disk size of a runtime for steps, in MiB. */
export function stepDiskMiB(diskMiB: number): number {
  return diskMiB + Math.min(SLACK_MIB.max, Math.max(SLACK_MIB.min, diskMiB))
}

/**
 * Throws `disk_too_small` for an image that does not fit, as soon as its size is known. `more`
 * describes the steps on top: `runs` is true if they run commands, and `copiedBytes` is the size of
 * the files that they copy.
 */
export function checkBase(
  { diskMiB, baseBytes }: { readonly diskMiB: number; readonly baseBytes: number },
  more: { readonly runs: boolean; readonly copiedBytes: number },
): void {
  if (baseBytes <= diskMiB * MIB) return
  const installed = (more.runs ? INSTALL_MIB : 0) + Math.ceil(more.copiedBytes / MIB)
  throw tooSmall(diskMiB, mibOf(baseBytes) + MARGIN_MIB + installed, `the image alone has ${mibOf(baseBytes)} MiB`)
}

/** Throws `disk_too_small` once the image and the installed files together do not fit. */
export function checkInstalled(
  {
    diskMiB,
    baseBytes,
    usedBytes,
  }: { readonly diskMiB: number; readonly baseBytes: number; readonly usedBytes: number },
  step: number | null,
): void {
  const bytes = baseBytes + usedBytes
  if (bytes <= diskMiB * MIB) return
  const why = `the image has ${mibOf(baseBytes)} MiB, and ${mibOf(usedBytes)} MiB were installed`
  throw tooSmall(diskMiB, Math.ceil(mibOf(bytes) * 1.02) + MARGIN_MIB, why, step)
}

/** Throws `disk_too_small` if the finished image does not fit. */
export function checkFinished({ diskMiB, sizeBytes }: { readonly diskMiB: number; readonly sizeBytes: number }): void {
  if (sizeBytes <= diskMiB * MIB) return
  throw tooSmall(diskMiB, mibOf(sizeBytes) + MARGIN_MIB, `the finished image has ${mibOf(sizeBytes)} MiB`)
}

/**
 * Returns the error for a step that has filled even the larger disk of the build. The size that it
 * needs is unknown, so the hint asks for twice that disk, in addition to the image.
 */
export function filledDisk(
  { diskMiB, baseBytes }: { readonly diskMiB: number; readonly baseBytes: number },
  step: number | null,
): BuildError {
  const required = mibOf(baseBytes) + 2 * stepDiskMiB(diskMiB)
  return tooSmall(diskMiB, required, 'a step has filled the disk', step)
}

/** Returns true if the output of a failed step reports a full disk. */
export function saysDiskFull(output: string): boolean {
  return /no space left on device|ENOSPC|disk quota exceeded/i.test(output)
}

function tooSmall(diskMiB: number, requiredMiB: number, why: string, step: number | null = null): BuildError {
  return new BuildError('disk_too_small', `A disk of ${diskMiB} MiB is too small: ${why}.`, {
    hint: `Raise disk to ${requiredMiB} MiB or more.`,
    details: { required_mib: requiredMiB, disk_mib: diskMiB },
    ...(step === null ? {} : { step }),
  })
}

function mibOf(bytes: number): number {
  return Math.ceil(bytes / MIB)
}
